// SPDX-License-Identifier: Apache-2.0
// Pins as outputs. Only core::Guard calls energise().
#include <avr/pgmspace.h>

#include "interrupts.h"
#include "uno.h"

namespace {

struct Pin {
  uint8_t port;  // address of PORTx in data space; PINx and DDRx lie 2 and 1 below it
  uint8_t mask;
};

constexpr uint8_t kPortB = 0x25, kPortC = 0x28, kPortD = 0x2B;

// In the order of protocol::Output.
const Pin kPins[protocol::kOutputCount] PROGMEM = {
    {kPortD, _BV(3)},  // roller, D3
    {kPortD, _BV(4)},  // reverse, D4
    {kPortD, _BV(5)},  // slot 1, D5
    {kPortD, _BV(6)},  // slot 2, D6
    {kPortD, _BV(7)},  // slot 3, D7
    {kPortB, _BV(1)},  // slot 4, D9
    {kPortB, _BV(2)},  // slot 5, D10
    {kPortB, _BV(3)},  // slot 6, D11
    {kPortC, _BV(2)},  // launch, A2
    {kPortB, _BV(4)},  // reset, D12
    {kPortC, _BV(5)},  // power, A5
};

struct Found {
  volatile uint8_t* port;
  uint8_t mask;
};

Found pin_of(uint8_t output) {
  return {reinterpret_cast<volatile uint8_t*>(static_cast<uint16_t>(pgm_read_byte(&kPins[output].port))),
          pgm_read_byte(&kPins[output].mask)};
}

}  // namespace

namespace board {

// An interrupt must not come between the last check and the pin; what can wait is done outside the lock.
bool energise(protocol::Output output, uint8_t duty, core::Tick& at) {
  const Found pin = pin_of(static_cast<uint8_t>(output));
  uint16_t low;
  uint8_t overflows;
  {
    const Lock lock;
    if (latched || !interlock_closed()) return false;
    low = TCNT1;
    overflows = uno::overflows_at(low);
    if (output == protocol::Output::roller) {
      OCR2B = duty;
      TCNT2 = 255;  // the next count begins a period, so that the pulse starts now and not up to 128 us later
      TCCR2A = uno::kPwmOn;
    } else {
      pin.port[0] |= pin.mask;
    }
    pin.port[-1] |= pin.mask;
  }
  at = uno::tick_of(low, overflows);
  return true;
}

void release(protocol::Output output) {
  const Found pin = pin_of(static_cast<uint8_t>(output));
  const Lock lock;
  if (output == protocol::Output::roller) TCCR2A = uno::kPwmMode;
  pin.port[0] &= static_cast<uint8_t>(~pin.mask);
  pin.port[-1] &= static_cast<uint8_t>(~pin.mask);
}

void release_all() {
  const Lock lock;
  uno::outputs_off();
}

uint16_t energised() {
  uint16_t on = 0;
  for (uint8_t n = protocol::kOutputCount; n--;) {
    const Found pin = pin_of(n);
    const bool roller = n == static_cast<uint8_t>(protocol::Output::roller);
    const bool high = roller ? TCCR2A == uno::kPwmOn : (pin.port[-2] & pin.mask) != 0;
    on = static_cast<uint16_t>((on << 1) | ((pin.port[-1] & pin.mask) && high));
  }
  return on;
}

}  // namespace board
