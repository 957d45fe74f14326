// SPDX-License-Identifier: Apache-2.0
// Dispatch. Each pass does what the flags say and nothing else: in the idle firmware most wake-ups have no flag at all.
#include "app.h"

#include "bytes.h"
#include "version.h"

namespace core {

using protocol::Cause;
using protocol::Output;
using protocol::PowerCause;
using protocol::Reason;
using protocol::Result;
using protocol::Setting;
using protocol::Type;

namespace due = board::due;

namespace {

Reason reason_of(Cause cause) {
  if (cause == Cause::interlock_open) return Reason::interlock;
  if (cause == Cause::lease_lapsed) return Reason::lease;
  return cause == Cause::stop_received ? Reason::stop : Reason::guard;
}

}  // namespace

void App::start() {
  settings_.start();
  build_id_ = board::build_id();
  link_.start(static_cast<uint8_t>(settings_.boot_count()));
  boot_said_ = slice(board::now()) - kBootEvery;  // the first BOOT is due at once
  timers();
}

void App::pass(uint8_t what) {
  if (what & due::tripped) tripped();
  if (what & due::received) receive();
  if (what & due::lost) count_losses();
  if (what & due::edges) {
    trial_.look();
    if (!reports_.waiting()) {
      const Tick now = board::now();
      reports_.noticed(slice(now));
      within(kEdgesWait, now);
    }
  }
  if (what & due::moment) trial_.moment_came();
  if (what & due::bin) {
    board::Bin bin;
    if (board::take_bin(bin)) {
      pack_ = bin.voltage;
      if (!trial_.bin(bin)) {
        link_.counters.add(Counters::ring_full);
        trial_.end(Reason::ring_full);
      }
    }
  }
  if (what & (due::edges | due::bin | due::received | due::tripped | due::moment | due::lost)) report();
  if (reschedule_ || (what & (due::alarm | due::moment))) timers();
  if (board::can_send()) {
    if (boot_due_ || link_.has_something()) {
      transmit();
    } else if (rate_due_ && link_.events.empty()) {
      rate_due_ = false;
      board::set_rate(rate_);
    }
  }
}

// ---- link

void App::receive() {
  // A command may bring any deadline nearer; a host that is heard again after silence is owed a repetition.
  reschedule_ = link_.silent(slice(board::now()));
  uint8_t byte;
  while (board::receive(byte)) {
    switch (reader_.feed(byte)) {
      case FrameReader::Outcome::nothing: break;
      case FrameReader::Outcome::damaged: link_.damaged(Counters::crc); break;
      case FrameReader::Outcome::noise: link_.damaged(Counters::resync); break;
      case FrameReader::Outcome::frame:
        switch (link_.arrived(reader_, slice(board::now()), trial_.in_flight())) {
          case Link::Arrival::nothing: break;
          case Link::Arrival::hello: reschedule_ = true; greet(); break;
          case Link::Arrival::command: reschedule_ = true; execute(); break;
        }
        lease();
    }
  }
}

// A trial is over when the host has acknowledged its end: who falls silent before that leaves nothing switched on.
void App::lease() {
  if (trial_.in_flight()) {
    leased_ = true;
  } else if (link_.events.empty()) {
    leased_ = false;
  }
}

void App::greet() {
  namespace at = protocol::hello_at;
  if (reader_.payload_length() != at::size || get32(reader_.payload() + at::protocol_hash) != protocol::kHash) {
    boot_due_ = true;  // who we are is the only answer that another protocol understands
    return;
  }
  const uint16_t nonce = get16(reader_.payload() + at::nonce);
  if (!link_.open(nonce)) return;
  trial_.forget();
  untold_ = 0;
  power_lost_ = false;
  link_.events.begin(Type::READY, protocol::ready_at::size);
  link_.events.put16(nonce);
  link_.events.put_tick(board::now());
  reports_.start();
}

void App::execute() {
  bool reliable, open;
  const uint8_t size = protocol::command_size(reader_.type(), reliable, open);
  const uint8_t length = reader_.payload_length();
  const bool fitting = open ? length >= size : length == size;
  const Result result = size == 0xFF ? Result::unknown
                        : !fitting   ? Result::bad_value
                                     : perform(static_cast<Type>(reader_.type()), reader_.payload(), length);
  link_.events.begin(Type::REPLY, protocol::reply_at::size);
  link_.events.put8(link_.command_seq());
  link_.events.put8(static_cast<uint8_t>(result));
}

Result App::perform(Type type, const uint8_t* payload, uint8_t length) {
  switch (type) {
    case Type::PRESS:
    case Type::INSERT:
    case Type::RESET: return pulsed_ == kNoOutput ? trial_.request(type, payload) : Result::busy;
    case Type::SLOTS: return slots(payload);
    case Type::ABORT: return trial_.end(Reason::abort), Result::ok;
    case Type::POWER: return power(payload[protocol::power_at::on]);
    case Type::SET: return set(payload[protocol::set_at::key], get32(payload + protocol::set_at::value));
    case Type::GET: return value(payload[protocol::get_at::key]);
    case Type::GET_STATUS: return status();
    case Type::GET_COUNTERS: return counters();
    case Type::CLEAR_FAULT: return guard_.clear(static_cast<Cause>(payload[protocol::clear_fault_at::cause]));
    // It waits for EEPROM, and meanwhile nobody would end what is on.
    case Type::IDENTIFY: return resting() ? settings_.identify(payload + protocol::identify_at::uuid) : Result::busy;
    case Type::ECHO: return echo(payload, length);
    case Type::RATE: return rate(payload[protocol::rate_at::divisor]);
    case Type::PULSE: return pulse(payload);
    default: return Result::unknown;
  }
}

Result App::power(uint8_t on) {
  if (on > 1) return Result::bad_value;
  if (trial_.in_flight()) return Result::busy;
  if (guard_.is_on(Output::power) == (on != 0)) return Result::ok;
  if (!on) {
    guard_.off(Output::power);
  } else if (!guard_.on(Output::power)) {
    return Result::refused;
  }
  powered(on, PowerCause::command);
  return Result::ok;
}

void App::powered(bool on, PowerCause cause) {
  link_.events.begin(Type::POWERED, protocol::powered_at::size);
  link_.events.put8(on);
  link_.events.put_tick(board::now());
  link_.events.put8(static_cast<uint8_t>(cause));
}

// Another toy, or another number of slots, is a change of what the books tell of.
Result App::set(uint8_t key, uint32_t value) {
  if (trial_.in_flight()) return Result::busy;
  const uint16_t old_launcher = settings_.get(Setting::launcher), old_slots = settings_.get(Setting::slots);
  const Result result = settings_.set(key, value);
  if (settings_.get(Setting::launcher) != old_launcher || settings_.get(Setting::slots) != old_slots) trial_.slots().clear();
  return result;
}

Result App::slots(const uint8_t* payload) {
  namespace at = protocol::slots_at;
  if (trial_.in_flight()) return Result::busy;
  return trial_.slots().tell(payload[at::occupied], payload[at::cards], static_cast<uint8_t>(settings_.get(Setting::slots)));
}

Result App::value(uint8_t key) {
  uint16_t value;
  const Result result = settings_.read(key, value);
  if (result != Result::ok) return result;
  link_.events.begin(Type::VALUE, protocol::value_at::size);
  link_.events.put8(key);
  link_.events.put32(value);
  return result;
}

Result App::status() {
  link_.events.begin(Type::STATUS, protocol::status_at::size);
  link_.events.put_tick(board::now());
  link_.events.put16(board::energised());
  link_.events.put8(board::inputs());
  link_.events.put8(static_cast<uint8_t>(guard_.cause()));
  link_.events.put32(trial_.number());
  link_.events.put16(pack_);
  link_.events.put16(board::stack_free());
  link_.events.put8(trial_.slots().occupied());
  return Result::ok;
}

Result App::counters() {
  count_losses();
  link_.events.begin(Type::COUNTERS, protocol::counters_at::size);
  for (uint8_t n = 0; n < Counters::kCount; ++n) link_.events.put16(link_.counters.value[n]);
  return Result::ok;
}

Result App::echo(const uint8_t* data, uint8_t length) {
  link_.events.begin(Type::ECHOED, length);
  for (uint8_t n = 0; n < length; ++n) link_.events.put8(data[n]);
  return Result::ok;
}

Result App::rate(uint8_t divisor) {
  if (trial_.in_flight()) return Result::busy;
  rate_ = divisor;
  rate_due_ = true;
  return Result::ok;
}

Result App::pulse(const uint8_t* payload) {
  namespace at = protocol::pulse_at;
  const uint8_t output = payload[at::output];
  const uint8_t ms = payload[at::ms];
  if (output >= protocol::kOutputCount || output == static_cast<uint8_t>(Output::power)) return Result::bad_value;
  if (ms == 0 || ms > protocol::kPulseMaxMs) return Result::bad_value;
  if (!resting()) return Result::busy;
  if (!guard_.on(static_cast<Output>(output), payload[at::duty])) return Result::refused;
  pulsed_ = output;
  pulse_end_ = slice(guard_.at()) + slices(ms) + 1;
  return Result::ok;
}

void App::transmit() {
  uint8_t* const out = board::send_buffer();
  const Tick now = board::now();
  const bool flying = link_.events.in_flight();  // then the alarm for a repetition is set already
  uint8_t count = link_.compose(out, slice(now));
  if (!flying && link_.events.in_flight()) within(link_.patience(), now);
  if (!count && boot_due_) {
    boot_due_ = false;
    count = write_boot(out);
  }
  if (count) board::send(count);
}

uint8_t App::write_boot(uint8_t* out) {
  namespace flag = protocol::boot_flag;
  uint8_t fields[protocol::boot_at::size];
  namespace at = protocol::boot_at;
  put32(fields + at::protocol_hash, protocol::kHash);
  fields[at::version_major] = kVersionMajor;
  fields[at::version_minor] = kVersionMinor;
  fields[at::version_patch] = kVersionPatch;
  put32(fields + at::build_id, build_id_);
  settings_.read_uuid(fields + at::uuid);
  put32(fields + at::boot_count, settings_.boot_count());
  fields[at::wiring] = static_cast<uint8_t>(settings_.get(Setting::wiring));
  fields[at::launcher] = static_cast<uint8_t>(settings_.get(Setting::launcher));
  fields[at::reset_cause] = board::reset_cause();
  fields[at::flags] = static_cast<uint8_t>((link_.fresh() ? flag::fresh : 0) |
                                           (trial_.in_flight() ? flag::in_trial : 0) |
                                           (settings_.has_uuid() ? 0 : flag::uuid_blank));
  fields[at::cause] = static_cast<uint8_t>(guard_.cause());
  FrameWriter frame = link_.writer(out, protocol::boot_at::size, Type::BOOT);
  frame.append(fields, protocol::boot_at::size);
  return frame.finish();
}

// ---- faults and losses

void App::tripped() {
  const bool power_was_on = guard_.is_on(Output::power);
  uint8_t cut;
  const uint8_t news = guard_.tripped(cut);
  if (cut != 0xFF) cut_ = cut;
  if (board::latched) {
    trial_.end(reason_of(guard_.cause()));
    pulsed_ = kNoOutput;
  }
  if (!link_.conversing()) return;
  untold_ = static_cast<uint8_t>(untold_ | news);
  if (power_was_on && !guard_.is_on(Output::power)) power_lost_ = true;
}

void App::tell_faults() {
  for (uint8_t n = 1; n < protocol::kCauseCount; ++n) {
    if (!(untold_ & (1u << n))) continue;
    if (!link_.events.begin(Type::FAULT, protocol::fault_at::size)) return;
    untold_ = static_cast<uint8_t>(untold_ & ~(1u << n));
    link_.events.put8(n);
    link_.events.put8(static_cast<Cause>(n) == Cause::max_on ? cut_ : 0xFF);
    link_.events.put32(trial_.number());
    link_.events.put_tick(board::now());
  }
  if (power_lost_ && link_.events.fits(protocol::powered_at::size)) {
    power_lost_ = false;
    powered(false, PowerCause::fault);
  }
}

void App::count_losses() {
  const board::Losses lost = board::take_losses();
  link_.counters.add(Counters::overrun, lost.overrun);
  link_.counters.add(Counters::framing, lost.framing);
  link_.counters.add(Counters::ring_full, lost.edges);
  link_.counters.add(Counters::ring_full, lost.bins);
  if (lost.edges || lost.bins) trial_.end(Reason::ring_full);
}

// Whatever was waiting for room or for company. Faults come before the TRIAL_END that they cause.
void App::report() {
  if (untold_ || power_lost_) {
    tell_faults();
    if (untold_ || power_lost_) return;
  }
  if (trial_.draining()) {
    trial_.drain();
  } else if (reports_.batch_full()) {
    if (reports_.pack_samples(trial_.number())) reports_.pack(true, trial_);
  } else if (reports_.crowded() && link_.conversing()) {
    reports_.pack(false, trial_);
  }
}

}  // namespace core
