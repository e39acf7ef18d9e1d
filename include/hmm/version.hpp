// SPDX-License-Identifier: MIT
#pragma once

#define HMM_VERSION_MAJOR 0
#define HMM_VERSION_MINOR 1
#define HMM_VERSION_PATCH 0
