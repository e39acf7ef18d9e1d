/* SPDX-License-Identifier: MIT */
#ifndef TESTS_HOST_LINUX_BITMAP_H
#define TESTS_HOST_LINUX_BITMAP_H

#include <linux/bits.h>
#include <linux/types.h>

#define BITS_PER_LONG		64
#define BIT_WORD(n)		((n) / BITS_PER_LONG)
#define BITS_TO_LONGS(n)	(((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define DECLARE_BITMAP(name, bits) unsigned long name[BITS_TO_LONGS(bits)]

/* Checks one bit at a time; the kernel's function reads whole words. */
static inline unsigned long find_next_bit(const unsigned long *map,
					  unsigned long size,
					  unsigned long offset)
{
	for (; offset < size; offset++)
		if (map[offset / BITS_PER_LONG] & BIT(offset % BITS_PER_LONG))
			return offset;
	return size;
}

static inline bool test_bit(long bit, const unsigned long *map)
{
	return map[bit / BITS_PER_LONG] & BIT(bit % BITS_PER_LONG);
}

static inline void bitmap_clear(unsigned long *map, unsigned int start,
				unsigned int bits)
{
	for (; bits--; start++)
		map[start / BITS_PER_LONG] &= ~BIT(start % BITS_PER_LONG);
}

static inline unsigned int hweight_long(unsigned long word)
{
	return (unsigned int)__builtin_popcountl(word);
}

/* Checks one bit at a time, so that @bits need not be whole words. */
static inline unsigned int bitmap_weight(const unsigned long *map,
					 unsigned int bits)
{
	unsigned int i, n = 0;

	for (i = 0; i < bits; i++)
		n += test_bit(i, map);
	return n;
}

#endif
