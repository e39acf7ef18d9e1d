// SPDX-License-Identifier: GPL-2.0-only
/* The bodies of the trace events; see trace.h. */
#define CREATE_TRACE_POINTS
#include "trace.h"
