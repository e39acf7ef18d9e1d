// SPDX-License-Identifier: GPL-2.0-only
/*
 * The values of knobs that apply: those of a range, a space or a device.
 * Reading takes no lock: see api_knob.c.
 */
#include "space.h"

/* The knobs that apply to a fault of @dev; @space may be NULL. */
struct hmmrt_knobs hmmrt_knobs_at(const struct hmmrt_space *space,
				  const struct hmmrt_device *dev,
				  const struct hmmrt_advice *advice)
{
	struct hmmrt_knobs knobs;

	hmmrt_knobs_fill(&knobs, &dev->knobs, space ? &space->knobs : NULL,
			 &advice->knobs);
	if (!hmmrt_duplicates_work())
		knobs.of[HMMRT_KNOB_READ_DUPLICATION] = 0;
	return knobs;
}

u32 hmmrt_device_knob(const struct hmmrt_device *dev, enum hmmrt_knob_id knob)
{
	return hmmrt_knob_value(knob, &dev->knobs, NULL, NULL);
}

u32 hmmrt_binding_knob(const struct hmmrt_binding *binding,
		       enum hmmrt_knob_id knob)
{
	return hmmrt_knob_value(knob, &binding->dev->knobs,
				&binding->space->knobs, NULL);
}
