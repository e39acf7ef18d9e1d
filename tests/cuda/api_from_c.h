/* SPDX-License-Identifier: MIT */
#ifndef API_FROM_C_H
#define API_FROM_C_H

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the program in C. Returns the line that failed, or 0. */
int failed_line_of_c(void);

#ifdef __cplusplus
}
#endif

#endif /* API_FROM_C_H */
