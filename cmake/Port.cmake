# SPDX-License-Identifier: MIT
# cmake -DINPUT=FILE -DOUTPUT=FILE -P: ports a CUDA program to hmmrt by search and replace.
file(READ ${INPUT} text)
string(REPLACE "cuda" "hmm" text "${text}")
# Of the driver API.
string(REPLACE "CUDA_" "HMM_" text "${text}")
string(REGEX REPLACE "([^A-Za-z0-9_])CU" "\\1HMM" text "${text}")
string(REGEX REPLACE "([^A-Za-z0-9_])cuMem" "\\1hmmMem" text "${text}")
file(WRITE ${OUTPUT} "${text}")
