// SPDX-License-Identifier: Apache-2.0
// The 2 ms tick on Timer0's compare match: interlock, the guard's one deadline, and in a trial one ADC conversion a
// tick, five of which (I V I I I) make a bin of 10 ms. It runs only while one of these is wanted.
#include <avr/interrupt.h>

#include "interrupts.h"
#include "uno.h"

namespace uno {

namespace {

constexpr uint8_t kTickCounts = 125;  // 16 MHz / 256 / 125 = 500 Hz
constexpr uint8_t kReference = _BV(REFS0);
// Enabled anew for each conversion: an enabled ADC starts one by itself whenever the CPU goes to sleep, and while that one
// runs neither the channel nor a start would be taken.
constexpr uint8_t kConvert = _BV(ADEN) | _BV(ADSC) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0);
constexpr uint8_t kPerBin = 5;
constexpr uint8_t kVoltagePhase = 1;

volatile uint16_t cut_left;  // ticks until the guard's deadline, 0 = none
volatile bool sampling;

// Of the bin that is being filled; only the tick touches them while sampling.
uint8_t phase;
uint8_t beam_mark;  // of beam A's queue when the bin began: equal at its end, no edge came in between
uint16_t current_sum;
uint16_t voltage;

// The bin that was closed last, until the loop has taken it.
board::Bin closed;
volatile bool closed_full;

// From a known phase: the first tick comes 2 ms from now. Timer1 takes no prescaler and is not disturbed.
void start_tick() {
  GTCCR = _BV(PSRSYNC);
  TCNT0 = 0;
  TIFR0 = _BV(OCF0A);
  TIMSK0 = _BV(OCIE0A);
}

void stop_tick_if_idle() {
  if (!sampling && cut_left == 0) TIMSK0 = 0;
}

}  // namespace

volatile uint8_t lost_bins;

void start_tick_timer() {
  TCCR0A = _BV(WGM01);
  TCCR0B = _BV(CS02);
  OCR0A = kTickCounts - 1;
  ADCSRA = 0;
  DIDR0 = _BV(kCurrentChannel) | _BV(kVoltageChannel);
}

}  // namespace uno

using namespace uno;

ISR(TIMER0_COMPA_vect) {
  if (PINC & kInterlock) trip(protocol::Cause::interlock_open);
  uint16_t left = cut_left;
  if (left) {
    cut_left = --left;
    if (!left) trip(protocol::Cause::max_on);
  }
  if (!sampling) return;
  sei();  // what follows must not delay an edge; the tick itself cannot come again for 2 ms

  const uint16_t counts = ADC;
  const uint8_t done = phase;
  uint8_t next = done + 1;
  ADCSRA = 0;
  ADMUX = next == kVoltagePhase ? kReference | kVoltageChannel : kReference | kCurrentChannel;
  ADCSRA = kConvert;
  if (done == kVoltagePhase) {
    voltage = counts;
  } else {
    current_sum += counts;
  }
  if (next == kPerBin) {
    next = 0;
    if (closed_full) {
      count_lost(lost_bins);
    } else {
      closed.current_sum = current_sum;
      closed.voltage = voltage;
      // A gap between two cards may be shorter than a bin, so the level alone would join them into one long card.
      const bool still = board::beam_a.mark() == beam_mark;
      closed.flags = (still && !(PINB & kBeamA) ? protocol::bin_flag::beam_a : 0) | ((DDRD & kRoller) ? protocol::bin_flag::roller : 0);
      closed_full = true;
    }
    GPIOR0 |= board::due::bin;
    beam_mark = board::beam_a.mark();
    current_sum = 0;
  }
  phase = next;
}

namespace board {

void start_sampling() {
  const Lock lock;
  phase = 0;
  beam_mark = beam_a.mark();
  current_sum = 0;
  closed_full = false;
  sampling = true;
  ADCSRA = 0;
  ADMUX = kReference | kCurrentChannel;
  ADCSRA = kConvert;
  start_tick();
}

void stop_sampling() {
  const Lock lock;
  sampling = false;
  closed_full = false;
  ADCSRA = 0;
  stop_tick_if_idle();
}

bool take_bin(Bin& bin) {
  const Lock lock;
  if (!closed_full) return false;
  bin = closed;
  closed_full = false;
  return true;
}

void cut_in(uint16_t ticks_of_2ms) {
  const Lock lock;
  cut_left = ticks_of_2ms;
  if (ticks_of_2ms && !TIMSK0) start_tick();
  stop_tick_if_idle();
}

}  // namespace board
