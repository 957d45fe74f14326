// SPDX-License-Identifier: Apache-2.0
// Timer1 is the clock: free running at 16 MHz, never written. Its capture unit takes beam A, INT0 beam B, pin changes
// the slow inputs; all of them note 16 bits of the timer and the low bits of its overflow count.
#include <avr/interrupt.h>

#include "interrupts.h"
#include "uno.h"

extern "C" {
// The overflow count as the loop last carried it; named plainly, so that a test can start just before a wrap.
// Its low 8 bits are GPIOR1's.
volatile uint32_t launchrig_overflows;
}

namespace board {
core::EdgeQueue beam_a;
core::EdgeQueue beam_b;
core::SlowQueue slow;
}  // namespace board

namespace uno {

volatile uint8_t lost_edges;

namespace {

// Running, with the capture unit waiting for the beam to be blocked (falling) or to clear (rising).
constexpr uint8_t kAwaitBlock = _BV(CS10);
constexpr uint8_t kAwaitClear = _BV(CS10) | _BV(ICES1);

// Levels as the queues tell them, kept by the interrupts.
volatile uint8_t beam_b_blocked;
volatile uint8_t sounding;
volatile uint8_t port_c;  // lid and interlock

}  // namespace

void start_clock() {
  TCCR1A = 0;
  TIMSK1 = 0;
  TCCR1B = (PINB & kBeamA) ? kAwaitBlock : kAwaitClear;
  TIFR1 = _BV(ICF1) | _BV(TOV1) | _BV(OCF1A) | _BV(OCF1B);
  TIMSK1 = _BV(ICIE1) | _BV(TOIE1);

  beam_b_blocked = !(PIND & kBeamB);
  EICRA = _BV(ISC00);  // INT0 on both edges
  EIFR = _BV(INTF0);
  EIMSK = _BV(INT0);

  sounding = (PINB & kSound) != 0;
  port_c = PINC & (kLid | kInterlock);
  PCMSK0 = kSound;
  PCMSK1 = kLid | kInterlock;
  PCIFR = _BV(PCIF0) | _BV(PCIF1);
  PCICR = _BV(PCIE0) | _BV(PCIE1);
}

}  // namespace uno

using namespace uno;

ISR(TIMER1_OVF_vect) { count_overflow(); }

ISR(TIMER1_COMPA_vect) {
  TIMSK1 = _BV(ICIE1) | _BV(TOIE1);
  GPIOR0 |= board::due::moment;
}

// The edge select must follow the level just captured, and the flag be cleared after that. A pending overflow is
// consumed in the same write: clearing ICF1 alone would lose it on some simulators, and counting it here lets the
// edge be put on the right side of it.
ISR(TIMER1_CAPT_vect) {
  const uint16_t at = ICR1;
  uint8_t overflows = GPIOR1;
  uint8_t flags = _BV(ICF1);
  if (TIFR1 & _BV(TOV1)) {
    flags = _BV(ICF1) | _BV(TOV1);
    count_overflow();
    if (!(at & 0x8000)) ++overflows;
  }
  const bool blocked = !(TCCR1B & _BV(ICES1));
  TCCR1B = blocked ? kAwaitClear : kAwaitBlock;
  TIFR1 = flags;
  GPIOR0 |= board::due::edges;
  if (!board::beam_a.push(at, overflows, blocked)) count_lost(lost_edges);

  // Has the beam moved again before the select was switched? Then nothing will capture that edge: note it now.
  const bool blocked_now = !(PINB & kBeamA);
  if (blocked_now != blocked && !(TIFR1 & _BV(ICF1))) {
    TCCR1B = blocked ? kAwaitBlock : kAwaitClear;
    TIFR1 = _BV(ICF1);
    const uint16_t late = TCNT1;
    if (!board::beam_a.push(late, overflows_at(late), !blocked)) count_lost(lost_edges);
  }
}

// A pulse shorter than the way into this interrupt leaves the level where it was and is not told: beam A measures.
ISR(INT0_vect) {
  const uint16_t at = TCNT1;
  const uint8_t overflows = overflows_at(at);
  const uint8_t blocked = !(PIND & kBeamB);
  if (blocked == beam_b_blocked) return;
  beam_b_blocked = blocked;
  GPIOR0 |= board::due::edges;
  if (!board::beam_b.push(at, overflows, blocked)) count_lost(lost_edges);
}

ISR(PCINT0_vect) {
  const uint16_t at = TCNT1;
  const uint8_t overflows = overflows_at(at);
  const uint8_t on = (PINB & kSound) != 0;
  if (on == sounding) return;
  sounding = on;
  GPIOR0 |= board::due::edges;
  if (!board::slow.push(static_cast<uint8_t>(protocol::Channel::sound), at, overflows, on)) count_lost(lost_edges);
}

ISR(PCINT1_vect) {
  const uint8_t pins = PINC & (kLid | kInterlock);
  const uint8_t changed = static_cast<uint8_t>(pins ^ port_c);
  if (changed & pins & kInterlock) trip(protocol::Cause::interlock_open);
  const uint16_t at = TCNT1;
  const uint8_t overflows = overflows_at(at);
  port_c = pins;
  GPIOR0 |= board::due::edges;
  if ((changed & kInterlock) && !board::slow.push(static_cast<uint8_t>(protocol::Channel::interlock), at, overflows,
                                                  !(pins & kInterlock))) {
    count_lost(lost_edges);
  }
  if ((changed & kLid) &&
      !board::slow.push(static_cast<uint8_t>(protocol::Channel::lid), at, overflows, !(pins & kLid))) {
    count_lost(lost_edges);
  }
}

namespace board {

core::Tick now() {
  uint16_t low;
  uint8_t overflows;
  {
    const Lock lock;
    low = TCNT1;
    overflows = overflows_at(low);
  }
  const uint32_t carried = core::carry_overflows(launchrig_overflows, overflows);
  launchrig_overflows = carried;
  return {carried, low};
}

void wake_at(uint8_t overflow_low) {
  GPIOR2 = overflow_low;
}

void wake_exactly(const core::Tick& at) {
  {
    const Lock lock;
    OCR1A = at.low;
    TIFR1 = _BV(OCF1A);
    TIMSK1 = _BV(ICIE1) | _BV(TOIE1) | _BV(OCIE1A);
  }
  if (!core::before(now(), at)) raise(due::moment);
}

uint8_t inputs() {
  const uint8_t b = PINB, c = PINC, d = PIND;
  uint8_t levels = 0;
  if (!(b & kBeamA)) levels |= 1 << static_cast<uint8_t>(protocol::Channel::beam_a);
  if (!(d & kBeamB)) levels |= 1 << static_cast<uint8_t>(protocol::Channel::beam_b);
  if (b & kSound) levels |= 1 << static_cast<uint8_t>(protocol::Channel::sound);
  if (!(c & kLid)) levels |= 1 << static_cast<uint8_t>(protocol::Channel::lid);
  if (!(c & kInterlock)) levels |= 1 << static_cast<uint8_t>(protocol::Channel::interlock);
  return levels;
}

uint8_t settled() {
  uint8_t levels = 0;
  if (TCCR1B & _BV(ICES1)) levels |= 1 << static_cast<uint8_t>(protocol::Channel::beam_a);
  if (beam_b_blocked) levels |= 1 << static_cast<uint8_t>(protocol::Channel::beam_b);
  if (sounding) levels |= 1 << static_cast<uint8_t>(protocol::Channel::sound);
  if (!(port_c & kLid)) levels |= 1 << static_cast<uint8_t>(protocol::Channel::lid);
  if (!(port_c & kInterlock)) levels |= 1 << static_cast<uint8_t>(protocol::Channel::interlock);
  return levels;
}

}  // namespace board
