// SPDX-License-Identifier: Apache-2.0
// The whole core on the stub board, with a host at the other end of a line that may lose frames. Time moves in steps
// of 0.25 ms; every step does what the interrupts would have done.
#pragma once

#include <stddef.h>

#include <functional>
#include <map>
#include <vector>

#include "app.h"
#include "bytes.h"
#include "stub_board.h"

struct Event {
  protocol::Type type;
  uint8_t seq;
  std::vector<uint8_t> payload;

  uint8_t u8(uint8_t at) const { return payload.at(at); }
  uint16_t u16(uint8_t at) const { return core::get16(payload.data() + at); }
  uint32_t u32(uint8_t at) const { return core::get32(payload.data() + at); }
  uint64_t u48(uint8_t at) const { return u16(at) | (static_cast<uint64_t>(u32(at + 2)) << 16); }
};

class Bench {
 public:
  explicit Bench(bool keep_eeprom = false);

  core::App app;
  std::vector<Event> events;   // reliable, in order, each once
  std::vector<Event> others;   // BOOT, MCU_ACK, MCU_NAK
  unsigned sent_events = 0;    // event frames on the wire, repetitions included
  bool host_answers = true;    // acknowledges events and repeats commands
  double renew_ms = 80;        // 0 = never
  std::function<bool()> lose_to_host = [] { return false; };
  std::function<bool()> lose_to_mcu = [] { return false; };
  uint16_t current_sum = 10;   // of every bin: 12 mA
  uint16_t voltage = 460;
  uint8_t session = 1;

  void run(double ms);
  bool run_until(std::function<bool()> done, double ms = 20000);

  void hello(uint16_t nonce = 0x1234);                              // and waits for READY
  uint8_t command(protocol::Type type, std::vector<uint8_t> payload = {});  // queued; returns its number
  protocol::Result ask(protocol::Type type, std::vector<uint8_t> payload = {});  // waits for the reply
  void raw(protocol::Type type, uint8_t seq, uint8_t ack, std::vector<uint8_t> payload = {});  // one frame, as it is
  void bytes(const std::vector<uint8_t>& data);
  uint8_t expected() const { return expected_; }
  uint8_t next_command() const { return next_; }

  const Event* last(protocol::Type type) const;
  unsigned count(protocol::Type type) const;
  std::vector<uint64_t> edges(protocol::Channel channel) const;  // tick << 1 | level, of all EDGES since READY's

  // A press at once, in `button` drive.
  static std::vector<uint8_t> press(uint32_t trial, uint64_t not_before = 0, uint16_t hopper = 50);
  static std::vector<uint8_t> run_direct(uint32_t trial, uint16_t run_ms, uint8_t duty);
  // The blaster's, at once or at a moment.
  static std::vector<uint8_t> insert(uint32_t trial, uint8_t slot, uint64_t not_before = 0);
  static std::vector<uint8_t> reset(uint32_t trial, uint64_t not_before = 0);
  static std::vector<uint8_t> setting(protocol::Setting key, uint32_t value);
  void power_on();  // and settles

 private:
  struct Command {
    uint8_t seq;
    protocol::Type type;
    std::vector<uint8_t> payload;
  };

  void step();
  void listen();
  void take(const core::FrameReader& frame);
  void speak();
  void say(protocol::Type type, uint8_t seq, const std::vector<uint8_t>& payload);

  core::FrameReader reader_;
  std::map<uint8_t, Event> early_;  // ahead of their turn
  std::vector<Command> waiting_;
  uint8_t expected_ = 0, next_ = 0;
  bool conversing_ = false, nak_said_ = false, ack_due_ = false, nak_due_ = false;
  double said_ms_ = 0, repeat_ms_ = 0;
  uint8_t overflows_ = 0;
  double bin_at_ = 0;
  bool was_sampling_ = false;
};
