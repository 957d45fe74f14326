// SPDX-License-Identifier: Apache-2.0
// launchrig's firmware for the Arduino Uno. Nothing of weight is here: src/core is the firmware, portable and tested on
// the host; src/uno is the ATmega328P. Build with `make`, or open this folder in the Arduino IDE.
#include "src/core/app.h"
#include "src/uno/uno.h"

static core::App app;

void setup() {
  uno::start();
  app.start();
}

void loop() { app.pass(uno::wait()); }
