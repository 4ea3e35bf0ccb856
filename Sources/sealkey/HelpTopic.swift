// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What `sealkey help` explains besides the commands.
enum HelpTopic {
  static let all: [String: String] = ["reset": reset]

  /// Reset is not offered: nothing that Seal needs is left afterwards, and nothing brings it back.
  static let reset = """
    sealkey does not reset keys.

    A reset makes a key forget everything: the identity that was registered on it, every passkey, every fingerprint and the
    PIN. For Seal that person is gone: the key can never again endorse a device, tap a claim or open what was left for them. If it
    is a key for somebody else, what was left for that person can no longer be opened with it by anybody.

    Before you do it:
      1. Register another key or a backup, and publish it on a phone with Seal.
      2. See what else is on the key: sealkey passkeys list
      3. Tell the owners who count on you as a key holder.

    Then use the maker's own program, or on this computer:
      fido2-token -L                 find the key's node
      fido2-token -R /dev/hidrawN    within a few seconds of plugging it in, and touch it when it blinks
    """
}
