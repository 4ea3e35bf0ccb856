// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// A CTAPHID command, without the 0x80 bit that marks an initialisation packet (CTAP 2.1 section 11.2.9).
public enum CTAPHIDCommand: UInt8, Sendable {
  /// Echo.
  case ping = 0x01
  /// A CTAP1/U2F APDU.
  case message = 0x03
  /// Exclusive use of the channel for a while.
  case lock = 0x04
  /// Open or resynchronise a channel.
  case initialise = 0x06
  /// Blink.
  case wink = 0x08
  /// A CTAP2 command byte and its CBOR map.
  case cbor = 0x10
  /// Cancel what is waiting.
  case cancel = 0x11
  /// Still here: processing, or waiting for a touch.
  case keepalive = 0x3B
  /// The command failed at this layer.
  case error = 0x3F
}

/// What a KEEPALIVE says.
public enum KeepaliveStatus: UInt8, Sendable {
  /// The key is busy.
  case processing = 1
  /// The key waits for the person.
  case userPresenceNeeded = 2
}

/// The error codes of CTAPHID_ERROR (CTAP 2.1 section 11.2.9.1.6).
public enum CTAPHIDErrorCode: UInt8, Sendable {
  /// Unknown command.
  case invalidCommand = 0x01
  /// A parameter is out of range.
  case invalidParameter = 0x02
  /// The message length is wrong for this command.
  case invalidLength = 0x03
  /// A continuation packet out of order.
  case invalidSequence = 0x04
  /// The message took too long to arrive.
  case messageTimeout = 0x05
  /// Another channel has the key.
  case channelBusy = 0x06
  /// The channel is locked.
  case lockRequired = 0x0A
  /// No such channel.
  case invalidChannel = 0x0B
  /// Anything else.
  case other = 0x7F
}
