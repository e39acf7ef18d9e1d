# SPDX-License-Identifier: MIT
# cmake -DINPUT=FILE -DOUTPUT=FILE -P: ports a CUDA program to hmmrt by search and replace.
file(READ ${INPUT} text)
string(REPLACE "cuda" "hmm" text "${text}")
file(WRITE ${OUTPUT} "${text}")
