// SPDX-License-Identifier: Apache-2.0
// The rules of docs/protocol.md, "Reliability" and "Conversation".
#include "link.h"

namespace core {

namespace {
// Room that the answer to any command but ECHO may need: STATUS or COUNTERS, and REPLY.
constexpr uint8_t kReply = protocol::reply_at::size + EventRing::kOverhead;
constexpr uint8_t kAnswer = protocol::status_at::size + EventRing::kOverhead + kReply;
// An echo is only a test: in a trial it must leave room for what is measured, two full EDGES and some.
constexpr uint8_t kReserve = 120;
static_assert(protocol::counters_at::size <= protocol::status_at::size, "kAnswer covers the longest answer");
}  // namespace

Link::Arrival Link::arrived(const FrameReader& frame, Slice now, bool measured) {
  if (frame.type() & 0x80) {  // our own voice, from a looped line: it must not renew a lease
    counters.add(Counters::resync);
    return Arrival::nothing;
  }
  if (frame.session() != session_) {
    counters.add(Counters::stale);
    return Arrival::nothing;
  }
  heard_ = now;
  fresh_ = false;
  const protocol::Type type = static_cast<protocol::Type>(frame.type());
  if (type == protocol::Type::HELLO) return Arrival::hello;
  if (!conversing_) return Arrival::nothing;

  if (events.acknowledge(frame.ack())) {
    sent_at_ = now;  // only progress gives the rest more time
    repeat_due_ = false;
    if (events.empty()) troubled_ = false;
  }
  if (type == protocol::Type::NAK) repeat();

  bool reliable, open;
  protocol::command_size(frame.type(), reliable, open);
  if (!reliable) {
    in_turn(frame.seq());  // the number that comes next: a higher one than expected tells of a lost command
    return Arrival::nothing;
  }
  if (static_cast<int8_t>(frame.seq() - expected_) < 0) {
    counters.add(Counters::duplicate);
    ack_due_ = true;
    return Arrival::nothing;
  }
  if (!in_turn(frame.seq())) {
    counters.add(Counters::gap);
    return Arrival::nothing;
  }
  // With no room for the answer the command counts as not received. The host sends it again when its time is up: a NAK
  // would only fill the line with what finds no room either.
  const uint8_t echo = static_cast<uint8_t>(frame.payload_length() + EventRing::kOverhead + kReply);
  if (events.room() < (open ? echo + (measured ? kReserve : 0) : kAnswer)) {
    nak_said_ = true;
    return Arrival::nothing;
  }
  ++expected_;
  ack_due_ = true;
  return Arrival::command;
}

void Link::repeat() {
  repeat_due_ = events.in_flight();
  troubled_ = true;
}

bool Link::in_turn(uint8_t seq) {
  const int8_t ahead = static_cast<int8_t>(seq - expected_);
  if (ahead == 0) {
    nak_said_ = false;
  } else if (ahead > 0 && !nak_said_) {
    nak_said_ = nak_due_ = true;
  }
  return ahead == 0;
}

void Link::damaged(Counters::Kind kind) {
  counters.add(kind);
  troubled_ = true;
  if (conversing_ && !nak_said_) nak_said_ = nak_due_ = true;
}

bool Link::open(uint16_t nonce) {
  if (conversing_ && nonce == nonce_) {
    repeat();
    return false;
  }
  nonce_ = nonce;
  conversing_ = true;
  expected_ = 0;
  nak_due_ = nak_said_ = ack_due_ = repeat_due_ = troubled_ = false;
  events.clear();
  return true;
}

FrameWriter Link::writer(uint8_t* out, uint8_t payload_length, protocol::Type type) {
  return FrameWriter(out, payload_length, static_cast<uint8_t>(type), session_, events.sent_seq(), expected_);
}

uint8_t Link::compose(uint8_t* out, Slice now) {
  if (nak_due_) {
    nak_due_ = ack_due_ = false;
    return writer(out, 0, protocol::Type::MCU_NAK).finish();
  }
  if ((repeat_due_ || events.unsent()) && !silent(now)) {
    if (repeat_due_) counters.add(Counters::resent);
    const EventRing::Pending event = repeat_due_ ? events.oldest() : events.take();
    repeat_due_ = ack_due_ = false;
    sent_at_ = now;
    FrameWriter frame(out, event.length, event.type, session_, event.seq, expected_);
    events.append_to(frame, event);
    return frame.finish();
  }
  if (ack_due_) {
    ack_due_ = false;
    return writer(out, 0, protocol::Type::MCU_ACK).finish();
  }
  return 0;
}

Slice Link::retry(Slice now) {
  if (!conversing_ || silent(now) || !events.in_flight()) return 0;
  const Slice waited = now - sent_at_;
  if (waited < patience()) return patience() - waited;
  repeat();
  return patience();
}

}  // namespace core
