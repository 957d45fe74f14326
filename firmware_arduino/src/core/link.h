// SPDX-License-Identifier: Apache-2.0
// The conversation with the host: which frames count, what is acknowledged, what is sent next. It judges frames and
// writes frames; bytes come and go elsewhere, so that all of it runs in a test.
#pragma once

#include <stdint.h>

#include "counters.h"
#include "events.h"
#include "frame.h"
#include "tick.h"

namespace core {

class Link {
 public:
  enum class Arrival : uint8_t { nothing, hello, command };

  EventRing events;
  Counters counters;

  void start(uint8_t session) { session_ = session; }

  // Judges a good frame. `command`: it is the next in turn, is now counted as received, and its answer has room.
  // While something is `measured`, an echo must leave room for that.
  Arrival arrived(const FrameReader& frame, Slice now, bool measured);
  // Bytes came that are no good frame.
  void damaged(Counters::Kind kind);

  // HELLO: true when it opens a new conversation, both sequences at 0; the same nonce again only repeats READY.
  bool open(uint16_t nonce);
  bool conversing() const { return conversing_; }

  // True from reset to the first frame of a host.
  bool fresh() const { return fresh_; }
  // Slices since the last valid frame; since reset it counts as if there had been one long ago.
  Slice silence(Slice now) const { return now - heard_; }
  bool silent(Slice now) const { return fresh_ || silence(now) >= kSilent; }
  uint8_t command_seq() const { return static_cast<uint8_t>(expected_ - 1); }  // of the command just received

  // Is it worth asking compose()?
  bool has_something() const { return nak_due_ || ack_due_ || repeat_due_ || events.unsent(); }
  // The next frame to send, written to `out`; 0 when there is nothing to say.
  uint8_t compose(uint8_t* out, Slice now);
  // A frame outside the sequence, for BOOT.
  FrameWriter writer(uint8_t* out, uint8_t payload_length, protocol::Type type);

  // Sends the oldest event again when the host has not acknowledged it in time. Returns in how many slices to ask again, 0 = no need.
  Slice retry(Slice now);

  // How long an event may go unacknowledged.
  Slice patience() const { return troubled_ ? kRetryTroubled : kRetry; }

  static constexpr Slice kSilent = slices_at_least(protocol::kBootAfterMs);

 private:
  static constexpr Slice kRetry = slices(62);  // a frame, 16 ms of a slow USB bridge, the host's answer, and some
  static constexpr Slice kRetryTroubled = slices(20);  // to send once too often costs less than a full ring

  bool in_turn(uint8_t seq);
  void repeat();

  Slice heard_ = 0;
  Slice sent_at_ = 0;
  uint16_t nonce_ = 0;
  uint8_t session_ = 0;
  uint8_t expected_ = 0;  // number of the next command
  bool conversing_ = false;
  bool fresh_ = true;
  bool nak_due_ = false;
  bool nak_said_ = false;  // no second NAK until a good frame in its turn
  bool ack_due_ = false;
  bool repeat_due_ = false;  // the oldest event is to be sent again
  bool troubled_ = false;    // a frame was lost, and not everything told since has arrived yet
};

}  // namespace core
