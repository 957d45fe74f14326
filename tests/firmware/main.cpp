// SPDX-License-Identifier: Apache-2.0
// doctest's main() for the tests of the firmware's core.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "doctest.h"
