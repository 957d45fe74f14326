// SPDX-License-Identifier: Apache-2.0
// The bench of bench.h: interrupts in slow motion, and a host with go-back-N of its own.
#include "bench.h"

#include "doctest.h"

using protocol::Type;
using stub::the;
namespace due = board::due;

static const double kStepMs = 0.25;

Bench::Bench(bool keep_eeprom) {
  stub::reset(keep_eeprom);
  stub::at_ms(200);
  app.start();
  session = static_cast<uint8_t>(keep_eeprom ? 2 : 1);
}

void Bench::run(double ms) {
  const double until = static_cast<double>(the.tick) / 16000 + ms;
  while (static_cast<double>(the.tick) / 16000 < until) step();
}

bool Bench::run_until(std::function<bool()> done, double ms) {
  for (double passed = 0; passed < ms; passed += kStepMs) {
    if (done()) return true;
    step();
  }
  return done();
}

void Bench::step() {
  stub::later_ms(kStepMs);
  const uint64_t overflows = the.tick >> 16;
  if (static_cast<uint8_t>(overflows) != overflows_) {
    overflows_ = static_cast<uint8_t>(overflows);
    if (overflows_ == the.alarm) the.due |= due::alarm;
  }
  if (the.exact_set && the.tick >= the.exact) {
    the.exact_set = false;
    the.due |= due::moment;
  }
  stub::tick_ends();
  const double now = static_cast<double>(the.tick) / 16000;
  if (the.sampling && !was_sampling_) bin_at_ = now + 10;
  was_sampling_ = the.sampling;
  if (the.sampling && now >= bin_at_) {
    bin_at_ += 10;
    const uint8_t flags = static_cast<uint8_t>(((the.pins & 1) ? protocol::bin_flag::beam_a : 0) |
                                               ((the.on & 1) ? protocol::bin_flag::roller : 0));
    the.bins.push_back({current_sum, voltage, flags});
    the.due |= due::bin;
  }
  the.due |= due::sent;
  speak();
  while (the.due) {
    const uint8_t what = the.due;
    the.due = 0;
    app.pass(what);
    listen();
  }
}

void Bench::listen() {
  std::vector<uint8_t> sent;
  sent.swap(the.tx);
  if (sent.empty()) return;
  the.due |= due::sent;
  for (uint8_t byte : sent) {
    const core::FrameReader::Outcome outcome = reader_.feed(byte);
    REQUIRE(outcome != core::FrameReader::Outcome::damaged);
    REQUIRE(outcome != core::FrameReader::Outcome::noise);
    if (outcome == core::FrameReader::Outcome::frame && !lose_to_host()) take(reader_);
  }
}

void Bench::take(const core::FrameReader& frame) {
  const Event event = {static_cast<Type>(frame.type()), frame.seq(),
                       std::vector<uint8_t>(frame.payload(), frame.payload() + frame.payload_length())};
  REQUIRE(frame.session() == session);
  if (conversing_ && host_answers) {
    while (!waiting_.empty() && static_cast<int8_t>(frame.ack() - waiting_.front().seq) > 0) {
      waiting_.erase(waiting_.begin());
    }
  }
  if (frame.type() < 0x90) {
    if (event.type == Type::MCU_NAK) repeat_ms_ = 0;
    others.push_back(event);
    return;
  }
  ++sent_events;
  if (event.type == Type::READY && event.seq == 0) conversing_ = true;
  if (!conversing_) return;
  const int8_t ahead = static_cast<int8_t>(event.seq - expected_);
  if (ahead == 0) nak_said_ = false;
  if (ahead >= 0) early_.emplace(event.seq, event);
  for (auto next = early_.find(expected_); next != early_.end(); next = early_.find(expected_)) {
    events.push_back(next->second);
    early_.erase(next);
    ++expected_;
  }
  if (!early_.empty() && !nak_said_) nak_said_ = nak_due_ = true;
  ack_due_ = true;
}

void Bench::speak() {
  if (!host_answers || !conversing_) return;
  const double now = static_cast<double>(the.tick) / 16000;
  if (nak_due_) say(Type::NAK, waiting_.empty() ? next_ : waiting_.front().seq, {});
  nak_due_ = false;
  if (!waiting_.empty() && now >= repeat_ms_) {
    repeat_ms_ = now + 50;
    for (size_t n = 0; n < waiting_.size() && n < protocol::kWindow; ++n) {
      say(waiting_[n].type, waiting_[n].seq, waiting_[n].payload);
    }
  } else if (ack_due_ || (renew_ms > 0 && now - said_ms_ >= renew_ms)) {
    const size_t ahead = waiting_.size() < protocol::kWindow ? waiting_.size() : protocol::kWindow;
    say(Type::ACK, waiting_.empty() ? next_ : static_cast<uint8_t>(waiting_.front().seq + ahead), {});
  }
}

void Bench::say(Type type, uint8_t seq, const std::vector<uint8_t>& payload) {
  said_ms_ = static_cast<double>(the.tick) / 16000;
  ack_due_ = false;
  if (!lose_to_mcu()) raw(type, seq, expected_, payload);
}

void Bench::raw(Type type, uint8_t seq, uint8_t ack, std::vector<uint8_t> payload) {
  uint8_t out[core::kMaxFrame];
  core::FrameWriter writer(out, static_cast<uint8_t>(payload.size()), static_cast<uint8_t>(type), session, seq, ack);
  writer.append(payload.data(), static_cast<uint8_t>(payload.size()));
  bytes(std::vector<uint8_t>(out, out + writer.finish()));
}

void Bench::bytes(const std::vector<uint8_t>& data) {
  the.rx.insert(the.rx.end(), data.begin(), data.end());
  the.due |= due::received;
}

void Bench::hello(uint16_t nonce) {
  std::vector<uint8_t> payload(6);
  core::put32(payload.data(), protocol::kHash);
  core::put16(payload.data() + 4, nonce);
  conversing_ = false;
  expected_ = next_ = 0;
  events.clear();
  waiting_.clear();
  raw(Type::HELLO, 0, 0, payload);
  REQUIRE(run_until([this] { return count(Type::EDGES) == protocol::kChannelCount; }, 100));
}

uint8_t Bench::command(Type type, std::vector<uint8_t> payload) {
  waiting_.push_back({next_, type, payload});
  repeat_ms_ = 0;
  return next_++;
}

protocol::Result Bench::ask(Type type, std::vector<uint8_t> payload) {
  const uint8_t seq = command(type, payload);
  const auto replied = [&] {
    const Event* reply = last(Type::REPLY);
    return reply && reply->u8(0) == seq;
  };
  REQUIRE(run_until(replied, 3000));
  return static_cast<protocol::Result>(last(Type::REPLY)->u8(1));
}

const Event* Bench::last(Type type) const {
  for (size_t n = events.size(); n--;) {
    if (events[n].type == type) return &events[n];
  }
  return nullptr;
}

unsigned Bench::count(Type type) const {
  unsigned found = 0;
  for (const Event& event : events) found += event.type == type;
  return found;
}

std::vector<uint64_t> Bench::edges(protocol::Channel channel) const {
  std::vector<uint64_t> found;
  unsigned initial = protocol::kChannelCount;
  for (const Event& event : events) {
    if (event.type != Type::EDGES) continue;
    if (initial && initial--) continue;
    if (event.u8(4) != static_cast<uint8_t>(channel)) continue;
    const uint64_t high = event.u48(5);
    for (size_t at = 11; at < event.payload.size(); at += 4) {
      const uint32_t word = event.u32(static_cast<uint8_t>(at));
      found.push_back(((high - ((high - (word >> 1)) & 0x7FFFFFFF)) << 1) | (word & 1));
    }
  }
  return found;
}

static std::vector<uint8_t> trial_payload(uint8_t size, uint32_t trial, uint8_t moment_at, uint64_t not_before) {
  std::vector<uint8_t> payload(size);
  core::put32(payload.data(), trial);
  core::put16(payload.data() + moment_at, static_cast<uint16_t>(not_before));
  core::put32(payload.data() + moment_at + 2, static_cast<uint32_t>(not_before >> 16));
  return payload;
}

std::vector<uint8_t> Bench::press(uint32_t trial, uint64_t not_before, uint16_t hopper) {
  namespace at = protocol::press_at;
  std::vector<uint8_t> payload = trial_payload(at::size, trial, at::not_before, not_before);
  core::put16(payload.data() + at::hopper, hopper);
  return payload;
}

std::vector<uint8_t> Bench::insert(uint32_t trial, uint8_t slot, uint64_t not_before) {
  namespace at = protocol::insert_at;
  std::vector<uint8_t> payload = trial_payload(at::size, trial, at::not_before, not_before);
  payload[at::slot] = slot;
  return payload;
}

std::vector<uint8_t> Bench::reset(uint32_t trial, uint64_t not_before) {
  namespace at = protocol::reset_at;
  return trial_payload(at::size, trial, at::not_before, not_before);
}

std::vector<uint8_t> Bench::run_direct(uint32_t trial, uint16_t run_ms, uint8_t duty) {
  namespace at = protocol::press_at;
  std::vector<uint8_t> payload = press(trial);
  payload[at::drive] = 1;
  core::put16(payload.data() + at::run_ms, run_ms);
  payload[at::duty] = duty;
  return payload;
}

std::vector<uint8_t> Bench::setting(protocol::Setting key, uint32_t value) {
  std::vector<uint8_t> payload(5);
  payload[0] = static_cast<uint8_t>(key);
  core::put32(payload.data() + 1, value);
  return payload;
}

void Bench::power_on() {
  REQUIRE(ask(Type::POWER, {1}) == protocol::Result::ok);
  run(600);
}
