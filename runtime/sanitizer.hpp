// SPDX-License-Identifier: MIT
/*
 * Errors that a sanitizer of the program finds in device code.
 *
 * A sanitizer ends the process that it runs in. On a lane of an agent, that
 * call only ends the launch, and a program that does not look at errors would
 * end with status 0. So the program ends as the sanitizer wanted.
 */
#pragma once

#include "agent/control.h"

namespace hmmrt {

/// True while the sanitizer writes its report, before it ends the process. Known
/// for ASan only.
bool sanitizer_reports();
/// The status with which the program must end; 0: it continues.
int status_of_sanitizer(const fault_block& fault);

} // namespace hmmrt
