// This Source Code Form is subject to the terms of the Mozilla Public
// License, v. 2.0. If a copy of the MPL was not distributed with this
// file, You can obtain one at https://mozilla.org/MPL/2.0/.

/// What `sealkey help` explains besides the commands.
enum HelpTopic {
  static let all: [String: String] = ["lost": lost, "reset": reset]

  /// What can still be done when something is lost, and by whom.
  static let lost = """
    What to do when something is lost.

    A computer, and you have your key:
      On another computer, import what you have of yourself: sealkey directory import people.json
      Find the device: sealkey directory list
      Revoke it: sealkey revoke-device --identity NAME --device-public-key DIGITS --out no-laptop.json
      Have a phone with Seal publish it, and seal again there. What only that computer knew is on no other: write
      "sealkey directory export --out people.json" after every change, and keep the file somewhere else.

    Your PIN, forgotten or blocked:
      The key is not lost. A tap, a confirmation or a sign-in may still work with a touch alone: the same command with
      --no-uv (not where "sealkey info" says alwaysUv=yes). What is locked with the key opens with the PIN only. Never
      reset the key for this: a reset destroys every identity on it.

    A spare key, and you have your own key:
      sealkey directory list shows what the spare is called.
      sealkey backup revoke --identity NAME --label SPARE --out no-spare.json

    Your own key, and you have a spare:
      With the spare you can still sign in (sealkey sign-in) and let new devices speak for you. It cannot tap, revoke, add
      another spare, or delete: only your own key can. Whoever finds your key can do all of that with a
      touch alone, unless "sealkey settings always-uv on" makes it ask for the PIN every time.
      Sign in on your phone with the spare while you can. Tell the owners who count on you as a key holder, so that they choose
      somebody else or a new identity of yours; then register a new key as a new identity.

    Your own key, and you have no spare:
      Nothing brings the identity back. Devices that speak for you go on doing so. Register a new key as a new
      identity, meet your people again, and have your phone seal again.

    A key that was registered for somebody else:
      What is left for them opens with that key alone. Register another key as theirs, and choose the new identity.
    """

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
