// SPDX-License-Identifier: MIT
/*
 * Errors that the program's sanitizer finds in device code.
 *
 * A sanitizer ends the process that it runs in. On an agent's lane, that call
 * only ends the launch, and a program that doesn't check for errors would exit
 * with status 0. So we end the program as the sanitizer wanted.
 */
#pragma once

#include "agent/control.h"

namespace hmmrt {

/// True while the sanitizer writes its report, before it ends the process. Only known for ASan.
bool sanitizer_reports();
/// Returns the status that the program must exit with; 0 to continue.
int status_of_sanitizer(const fault_record& fault);

} // namespace hmmrt
