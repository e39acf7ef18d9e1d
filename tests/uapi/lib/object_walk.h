/* SPDX-License-Identifier: MIT */
/*
 * Random steps with memory objects, against a model of the documentation:
 * create, map at any offset, set the rights of two devices, protect, move,
 * unmap parts, read and write by the CPU and by devices, prefetch, release.
 * The devices are small, so objects are evicted and creation fails.
 *
 * Model      A window of pages. Each page is a hole, reserved (anonymous memory
 *            without permissions) or shows a page of an object; then it has the
 *            permissions of the CPU and the rights of each device. A page of an
 *            object has a value, wherever and however often it is mapped. An
 *            object is there while its descriptor or one of its pages is.
 * Checked    The result of each step. Every CHECK_ALL steps also all pages of
 *            the window and of all objects, some rights, and the use of device
 *            memory.
 */
#ifndef TESTS_UAPI_OBJECT_WALK_H
#define TESTS_UAPI_OBJECT_WALK_H

struct object_walk;

/*
 * Allocate and free a walk, which uses the two devices of the session, each
 * with 16 MiB. HMMRT_TEST_SEED sets the random seed, which is printed. Returns
 * NULL if there is no memory.
 */
struct object_walk *object_walk_new(void);
void object_walk_free(struct object_walk *walk);

/* Takes some steps. Returns how many differed from the model; prints them. */
unsigned int object_walk_run(struct object_walk *walk, unsigned long count);

#endif
