// SPDX-License-Identifier: Apache-2.0
// Input capture with its noise canceler on.
#include "say.h"

int main(void) {
  TCCR1B = _BV(ICNC1) | _BV(CS10);
  for (;;) {}
}
