// SPDX-License-Identifier: Apache-2.0
// All that the core asks of a board: free functions that the linker resolves, to src/uno on the Uno and to a stub in
// the host's tests. Nothing here is called through a pointer.
#pragma once

#include <stdint.h>

#include "edges.h"
#include "protocol.h"
#include "tick.h"

namespace board {

// ---- locking: interrupts stay off while one of these lives, and return to what they were

class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  uint8_t saved_;
};

// ---- what is due: interrupts set bits, the loop takes them all at once

namespace due {
constexpr uint8_t received = 1 << 0;  // a delimiter arrived, or many bytes did
constexpr uint8_t sent = 1 << 1;      // the transmitter can take a frame
constexpr uint8_t edges = 1 << 2;     // an input changed
constexpr uint8_t bin = 1 << 3;       // a sample bin closed
constexpr uint8_t alarm = 1 << 4;     // the overflow asked for with wake_at() has come
constexpr uint8_t moment = 1 << 5;    // the tick asked for with wake_exactly() has come
constexpr uint8_t tripped = 1 << 6;   // a fault latched; the outputs are already off
constexpr uint8_t lost = 1 << 7;      // take_losses() has something to tell
}  // namespace due

void raise(uint8_t what);

// ---- time

core::Tick now();                    // from the loop only, at least once in 1.05 s
void wake_at(uint8_t overflow_low);  // raise `alarm` when the overflow count reaches this, modulo 256
void wake_exactly(const core::Tick& at);  // raise `moment` then, at once if it has passed; less than 4 ms ahead

// ---- outputs: for the guard and nobody else

// False, and nothing done, when a cause is latched or the interlock is open at that very moment; `at` is when it went on.
bool energise(protocol::Output output, uint8_t duty, core::Tick& at);
void release(protocol::Output output);
void release_all();         // callable from interrupts; constant time
uint16_t energised();       // read back from the pins, bit n = output n
void cut_in(uint16_t ticks_of_2ms);  // trip(max_on) after so many; 0 = never

// Latched causes, bit n = Cause n. Set by interrupts and by the guard; kept over a watchdog reset.
extern volatile uint8_t latched;

// ---- inputs

uint8_t inputs();          // as the pins are now, bit n = channel n is at level 1
bool interlock_closed();   // as the pin is now
uint8_t settled();         // as the edge interrupts last told it: the level before the next edge in the queues

extern core::EdgeQueue beam_a;
extern core::EdgeQueue beam_b;
extern core::SlowQueue slow;

// What the interrupts had to drop since the last call.
struct Losses {
  uint8_t edges;    // no room in a queue
  uint8_t bins;     // the loop came too late
  uint8_t overrun;  // received bytes
  uint8_t framing;  // received bytes with a bad stop bit
};
Losses take_losses();

// ---- analog sampling, in step with the 2 ms tick

struct Bin {
  uint16_t current_sum;  // of 4 counts
  uint16_t voltage;      // one count
  uint8_t flags;         // protocol::bin_flag
};

void start_sampling();  // bin 0 starts now
void stop_sampling();
bool take_bin(Bin& bin);

// ---- link

bool receive(uint8_t& byte);
bool can_send();              // the transmit buffer is free
uint8_t* send_buffer();       // core::kMaxFrame bytes
void send(uint8_t count);     // starts it; raises `sent` when the buffer is free again
void set_rate(uint8_t divisor);  // 2000000 / (divisor + 1) baud; 0 = the rate that was built in

// ---- memory

uint8_t eeprom_read(uint16_t address);
bool eeprom_ready();
void eeprom_write(uint16_t address, uint8_t value);  // only when ready; returns at once
void feed_watchdog();
uint32_t build_id();     // CRC-32 of the flash image
uint8_t reset_cause();   // protocol::reset_flag, 0 = unknown
uint16_t stack_free();   // bytes that the stack never reached

}  // namespace board
