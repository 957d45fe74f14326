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

constexpr uint8_t kPinChanges = _BV(PCIE0) | _BV(PCIE1);

// Levels as the queues tell them, kept by the interrupts.
volatile uint8_t beam_b_blocked;
volatile uint8_t slow_levels;  // bit n = channel n

constexpr uint8_t channel_bit(protocol::Channel channel) { return static_cast<uint8_t>(1u << static_cast<uint8_t>(channel)); }
constexpr uint8_t kInterlockClosed = channel_bit(protocol::Channel::interlock);

inline __attribute__((always_inline)) uint8_t read_slow() {
  const uint8_t c = PINC;
  uint8_t levels = 0;
  if (PINB & kSound) levels |= channel_bit(protocol::Channel::sound);
  if (!(c & kLid)) levels |= channel_bit(protocol::Channel::lid);
  if (!(c & kInterlock)) levels |= kInterlockClosed;
  return levels;
}

// Beam A is `blocked` now, or not any more. The edge select must follow the level just captured, and the flag be
// cleared after that.
template <bool blocked>
inline __attribute__((always_inline)) void captured(uint16_t at, uint8_t overflows, uint8_t flags) {
  TCCR1B = blocked ? kAwaitClear : kAwaitBlock;
  TIFR1 = flags;
  GPIOR0 |= board::due::edges;
  if (!board::beam_a.push(at, overflows, blocked)) count_lost(lost_edges);

  // Has the beam moved again before the select was switched? Then nothing will capture that edge: note it now.
  const bool same = ((PINB & kBeamA) == 0) == blocked;
  if (same || (TIFR1 & _BV(ICF1))) return;
  TCCR1B = blocked ? kAwaitBlock : kAwaitClear;
  TIFR1 = _BV(ICF1);
  const uint16_t late = TCNT1;
  if (!board::beam_a.push(late, overflows_at(late), !blocked)) count_lost(lost_edges);
}

}  // namespace

core::Tick tick_of(uint16_t low, uint8_t overflows) {
  const uint32_t carried = core::carry_overflows(launchrig_overflows, overflows);
  launchrig_overflows = carried;
  return {carried, low};
}

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

  slow_levels = read_slow();
  PCMSK0 = kSound;
  PCMSK1 = kLid | kInterlock;
  PCIFR = _BV(PCIF0) | _BV(PCIF1);
  PCICR = kPinChanges;
}

}  // namespace uno

using namespace uno;

ISR(TIMER1_OVF_vect) { count_overflow(); }

ISR(TIMER1_COMPA_vect) {
  TIMSK1 = _BV(ICIE1) | _BV(TOIE1);
  GPIOR0 |= board::due::moment;
}

// A pending overflow is consumed in the write that clears ICF1: clearing ICF1 alone would lose it on some simulators,
// and counting it here puts the edge on the right side of it.
ISR(TIMER1_CAPT_vect) {
  const uint16_t at = ICR1;
  uint8_t overflows = GPIOR1;
  uint8_t flags = _BV(ICF1);
  if (TIFR1 & _BV(TOV1)) {
    flags = _BV(ICF1) | _BV(TOV1);
    count_overflow();
    if (!(at & 0x8000)) ++overflows;
  }
  if (TCCR1B & _BV(ICES1)) {
    captured<false>(at, overflows, flags);
  } else {
    captured<true>(at, overflows, flags);
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

ISR(PCINT1_vect) {
  const uint16_t at = TCNT1;
  const uint8_t overflows = overflows_at(at);
  const uint8_t levels = read_slow();
  const uint8_t before = slow_levels;
  if (levels == before) return;
  if ((before & kInterlockClosed) && !(levels & kInterlockClosed)) trip(protocol::Cause::interlock_open);
  slow_levels = levels;
  PCICR = 0;  // the queue has one producer at a time; beams and link need not wait for it
  sei();
  GPIOR0 |= board::due::edges;
  if (!board::slow.push(at, overflows, levels)) count_lost(lost_edges);
  cli();
  PCICR = kPinChanges;
}

ISR(PCINT0_vect, ISR_ALIASOF(PCINT1_vect));

namespace board {

core::Tick now() {
  uint16_t low;
  uint8_t overflows;
  {
    const Lock lock;
    low = TCNT1;
    overflows = overflows_at(low);
  }
  return tick_of(low, overflows);
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
  uint8_t levels = read_slow();
  if (!(PINB & kBeamA)) levels |= channel_bit(protocol::Channel::beam_a);
  if (!(PIND & kBeamB)) levels |= channel_bit(protocol::Channel::beam_b);
  return levels;
}

bool interlock_closed() { return !(PINC & kInterlock); }

uint8_t settled() {
  uint8_t levels = slow_levels;
  if (TCCR1B & _BV(ICES1)) levels |= channel_bit(protocol::Channel::beam_a);
  if (beam_b_blocked) levels |= channel_bit(protocol::Channel::beam_b);
  return levels;
}

}  // namespace board
