// SPDX-License-Identifier: Apache-2.0
// Reset, watchdog, sleep, locks and memories of the ATmega328P.
#include <avr/interrupt.h>
#include <avr/pgmspace.h>
#include <avr/wdt.h>

#include "../core/crc.h"
#include "interrupts.h"
#include "uno.h"

extern "C" {
extern uint8_t __heap_start;     // end of static memory
extern uint8_t __data_load_end;  // end of the flash image
}

namespace {

constexpr uint8_t kPaint = 0xC5;

// Not touched by the start-up code: what the last life left for this one.
uint8_t reset_flags __attribute__((section(".noinit")));
struct Kept {
  uint8_t latched;
  uint8_t check;  // the complement of `latched` when a hang was noted, by accident only otherwise
  uint16_t mark;
};
Kept kept __attribute__((section(".noinit")));
constexpr uint16_t kMark = 0x4857;

void configure_watchdog() {
  const board::Lock lock;  // the two writes must follow each other within four cycles
  wdt_reset();
  WDTCSR = _BV(WDCE) | _BV(WDE);
  WDTCSR = _BV(WDIF) | _BV(WDIE) | _BV(WDE) | WDTO_60MS;
}

}  // namespace

// After a watchdog reset the watchdog still runs, at its shortest period: it is stopped before anything else.
extern "C" void early() __attribute__((naked, used, section(".init3")));
extern "C" void early() {
  reset_flags = MCUSR;
  MCUSR = 0;
  wdt_disable();
  for (uint8_t* at = &__heap_start; at <= reinterpret_cast<uint8_t*>(RAMEND - 2); ++at) *at = kPaint;
}

// First stage: the loop has not fed the watchdog for 60 ms. Everything off, and the next life is told. If the loop
// comes back it arms this stage again; otherwise the second stage resets.
ISR(WDT_vect) {
  uno::trip(protocol::Cause::watchdog);
  kept.latched = board::latched;
  kept.check = static_cast<uint8_t>(~board::latched);
  kept.mark = kMark;
}

namespace uno {

void start() {
  // The Arduino core's one interrupt goes first; from there on only what is started below can interrupt.
  TIMSK0 = 0;
  outputs_off();
  // Every pin is an input until the guard energises one. An old bootloader jumps here with D13 as its lamp's output, against
  // whatever the toy's sound says; one that was entered by SPI or TWI would leave those in charge of their pins.
  DDRB = 0;
  DDRC = 0;
  DDRD = 0;
  SPCR = 0;
  TWCR = 0;
  PORTB = kBeamA;
  PORTC = kInterlock | kLid;
  PORTD = kBeamB;
  GPIOR0 = 0;
  GPIOR1 = 0;
  GPIOR2 = 0;

  // The mark of a hang counts once. Without it the status register may still tell of a watchdog reset.
  const bool hung = kept.mark == kMark && kept.check == static_cast<uint8_t>(~kept.latched);
  kept.mark = 0;
  if (hung) {
    board::latched = kept.latched;
    reset_flags |= _BV(WDRF);
  }
  if (reset_flags & _BV(WDRF)) board::latched |= 1u << static_cast<uint8_t>(protocol::Cause::watchdog);

  configure_watchdog();
  SMCR = _BV(SE);  // idle mode
  TIMSK2 = 0;
  TCCR2A = kPwmMode;
  TCCR2B = _BV(CS21);
  start_tick_timer();
  start_usart();
  start_clock();
}

uint8_t wait() {
  uint8_t due;
  for (;;) {
    wdt_reset();
    cli();
    due = GPIOR0;
    if (due) break;
    sei();  // takes effect after the next instruction: an interrupt that is pending ends the sleep at once
    __asm__ __volatile__("sleep");
  }
  GPIOR0 = 0;
  sei();
  // A hang that passed has used up the first stage of the watchdog.
  if ((due & board::due::tripped) && !(WDTCSR & _BV(WDIE))) configure_watchdog();
  return due;
}

}  // namespace uno

namespace board {

volatile uint8_t latched;

Lock::Lock() : saved_(SREG) { cli(); }
Lock::~Lock() {
  __asm__ __volatile__("" ::: "memory");
  SREG = saved_;
}

void raise(uint8_t what) {
  const Lock lock;
  GPIOR0 |= what;
}

Losses take_losses() {
  const Lock lock;
  const Losses losses = {uno::lost_edges, uno::lost_bins, uno::lost_bytes, uno::bad_bytes};
  uno::lost_edges = 0;
  uno::lost_bins = 0;
  uno::lost_bytes = 0;
  uno::bad_bytes = 0;
  return losses;
}

uint8_t eeprom_read(uint16_t address) {
  while (!eeprom_ready()) {}  // a write that the last life began goes on through a reset, for 3.4 ms, and nothing is read meanwhile
  EEAR = address;
  EECR |= _BV(EERE);
  return EEDR;
}

bool eeprom_ready() { return !(EECR & _BV(EEPE)); }

void eeprom_write(uint16_t address, uint8_t value) {
  EEAR = address;
  EEDR = value;
  const Lock lock;
  EECR = _BV(EEMPE);
  EECR = _BV(EEMPE) | _BV(EEPE);
}

void feed_watchdog() { wdt_reset(); }

void rom_read(const void* from, void* to, uint8_t count) { memcpy_P(to, from, count); }

uint32_t build_id() {
  uint32_t crc = core::kCrc32Init;
  const uint16_t end = reinterpret_cast<uint16_t>(&__data_load_end);
  for (uint16_t at = 0; at != end; ++at) {
    crc = core::crc32(crc, pgm_read_byte(at));
    wdt_reset();
  }
  return core::crc32_end(crc);
}

uint8_t reset_cause() { return reset_flags & (_BV(PORF) | _BV(EXTRF) | _BV(BORF) | _BV(WDRF)); }

uint16_t stack_free() {
  const uint8_t* at = &__heap_start;
  while (*at == kPaint) ++at;
  return static_cast<uint16_t>(at - &__heap_start);
}

}  // namespace board
