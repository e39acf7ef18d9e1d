/* SPDX-License-Identifier: MIT */
/* CUDA programs as functions. Each returns the number of wrong results. */
#ifndef PORTED_H
#define PORTED_H

#ifdef __cplusplus
extern "C" {
#endif

int vector_add(void);
int blocks_of_two_dimensions(void);
int pointers_of_the_heap(void);
int where_memory_is(void);
int occupancy_chooses_the_block(void);
int rows(void);
int boxes(void);
int memory_in_the_order_of_a_stream(void);
int callbacks(void);
int from_c(void);
int mapped_memory_grows(void);

#ifdef __cplusplus
}
#endif

#endif
