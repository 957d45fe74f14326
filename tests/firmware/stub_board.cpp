// SPDX-License-Identifier: Apache-2.0
// The stub board; see stub_board.h.
#include "stub_board.h"

#include <cstdlib>
#include <cstring>

using protocol::Channel;

namespace {
uint8_t mask(Channel channel) { return static_cast<uint8_t>(1u << static_cast<uint8_t>(channel)); }
}  // namespace

namespace stub {

Board the;

void reset(bool keep_eeprom) {
  auto eeprom = the.eeprom;
  the = Board();
  if (keep_eeprom) the.eeprom = eeprom;
  the.pins = the.told = static_cast<uint8_t>(mask(Channel::lid) | mask(Channel::interlock));
  board::latched = 0;
  board::beam_a.clear();
  board::beam_b.clear();
  board::slow.clear();
}

core::Tick tick() { return {static_cast<uint32_t>(the.tick >> 16), static_cast<uint16_t>(the.tick)}; }

void at_ms(double ms) { the.tick = static_cast<uint64_t>(ms * 16000); }
void later_ms(double ms) { the.tick += static_cast<uint64_t>(ms * 16000); }

void tick_ends() {
  if (the.cut_ticks == 0 || the.tick < the.cut_at) return;
  the.cut_ticks = 0;
  board::release_all();
  board::latched = static_cast<uint8_t>(board::latched | (1u << static_cast<uint8_t>(protocol::Cause::max_on)));
  the.due |= board::due::tripped;
}

void edge(Channel channel, bool level) {
  const uint8_t bit = mask(channel);
  the.pins = static_cast<uint8_t>(level ? the.pins | bit : the.pins & ~bit);
  if (((the.told & bit) != 0) == level) return;
  the.told = static_cast<uint8_t>(the.told ^ bit);
  const core::Tick now = tick();
  const uint8_t overflows = static_cast<uint8_t>(now.overflows);
  bool room;
  if (channel == Channel::beam_a) {
    room = board::beam_a.push(now.low, overflows, level);
  } else if (channel == Channel::beam_b) {
    room = board::beam_b.push(now.low, overflows, level);
  } else {
    room = board::slow.push(now.low, overflows, the.told);
  }
  if (!room) {
    ++the.losses.edges;
    the.due |= board::due::lost;
  }
  the.due |= board::due::edges;
}

}  // namespace stub

namespace board {

using stub::the;

volatile uint8_t latched;
core::EdgeQueue beam_a;
core::EdgeQueue beam_b;
core::SlowQueue slow;

Lock::Lock() : saved_(the.locked) { the.locked = true; }
Lock::~Lock() { the.locked = saved_; }

void raise(uint8_t what) { the.due = static_cast<uint8_t>(the.due | what); }

core::Tick now() { return stub::tick(); }
void wake_at(uint8_t overflow_low) { the.alarm = overflow_low; }
void wake_exactly(const core::Tick& at) {
  the.exact = (static_cast<uint64_t>(at.overflows) << 16) | at.low;
  the.exact_set = true;
}

bool energise(protocol::Output output, uint8_t duty, core::Tick& at) {
  if (latched || !interlock_closed()) return false;
  at = now();
  the.on = static_cast<uint16_t>(the.on | (1u << static_cast<uint8_t>(output)));
  if (output == protocol::Output::roller) the.duty = duty;
  ++the.energised_count;
  the.ledger.energised(static_cast<uint8_t>(output), the.tick);
  return true;
}
void release(protocol::Output output) {
  the.on = static_cast<uint16_t>(the.on & ~(1u << static_cast<uint8_t>(output)));
  the.ledger.released(static_cast<uint8_t>(output), the.tick);
}
void release_all() {
  for (uint8_t n = 0; n < protocol::kOutputCount; ++n) release(static_cast<protocol::Output>(n));
}
uint16_t energised() { return the.on; }
void cut_in(uint16_t ticks_of_2ms) {
  the.cut_ticks = ticks_of_2ms;
  the.cut_at = the.tick + ticks_of_2ms * 32000ull;
}

uint8_t inputs() { return the.pins; }
bool interlock_closed() { return the.pins & mask(Channel::interlock); }
uint8_t settled() { return the.told; }

Losses take_losses() {
  const Losses taken = the.losses;
  the.losses = {0, 0, 0, 0};
  return taken;
}

void start_sampling() { the.sampling = true; }
void stop_sampling() {
  the.sampling = false;
  the.bins.clear();
}
bool take_bin(Bin& bin) {
  if (the.bins.empty()) return false;
  bin = the.bins.front();
  the.bins.pop_front();
  return true;
}

bool receive(uint8_t& byte) {
  if (the.rx.empty()) return false;
  byte = the.rx.front();
  the.rx.pop_front();
  return true;
}
bool can_send() { return !the.sending; }
uint8_t* send_buffer() { return the.buffer; }
void set_rate(uint8_t divisor) { the.rate = divisor; }
void send(uint8_t count) { the.tx.insert(the.tx.end(), the.buffer, the.buffer + count); }

uint8_t eeprom_read(uint16_t address) {
  the.eeprom_busy = 0;  // the Uno waits
  const auto found = the.eeprom.find(address);
  return found == the.eeprom.end() ? 0xFF : found->second;
}
bool eeprom_ready() { return the.eeprom_busy == 0 || --the.eeprom_busy == 0; }
void eeprom_write(uint16_t address, uint8_t value) {
  if (the.eeprom_busy) std::abort();  // the last write is not over: the byte would be lost
  the.eeprom[address] = value;
  ++the.eeprom_writes;
  the.eeprom_busy = the.eeprom_slow + 1;
}
void feed_watchdog() { ++the.fed; }
uint32_t build_id() { return 0x12345678; }
uint8_t reset_cause() { return protocol::reset_flag::power_on; }
uint16_t stack_free() { return 500; }
void rom_read(const void* from, void* to, uint8_t count) { std::memcpy(to, from, count); }

}  // namespace board
