# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Made by Tools/interface.py from the table of commands in the program.

# Completes sealkey's commands, words, options, files, keys, people and devices.

# The operands typed so far, the verb first.
function __sealkey_operands
  set -l tokens (commandline -opc)
  set -l skips 0
  for token in $tokens[2..-1]
    if test $skips = 1
      set skips 0
      continue
    end
    switch $token
      case '--*=*'
      case --also --capsule --card --challenge --claim --data-dir --device --device-public-key --dir --display-name --epoch --estate --fault --friend --giver --handshake --head --identity --into --item --kem-bundle --key --label --last-sign --lift --lock --me --metadata --model --name --new-key --new-passphrase-fd --new-pin-fd --out --owner-key --page --passphrase-fd --pending --people --photo --pin-fd --pinentry --practice --public-key --receiver --repeat --root --runs --serial --sheet --stage --store --tester --timeout --timestamp-pin --udp --virtual-touch --vpcd
        set skips 1
      case '-*'
      case '*'
        echo $token
    end
  end
end

# Whether the next operand has that number (or a later one: 2+), after that verb and word.
function __sealkey_at
  set -l typed (__sealkey_operands)
  set -l count (count $typed)
  if string match -q '*+' -- $argv[1]
    test $count -ge (string trim -r -c + -- $argv[1]); or return 1
  else
    test $count = $argv[1]; or return 1
  end
  set -l path $argv[2..-1]
  for i in (seq (count $path))
    test "$typed[$i]" = "$path[$i]"; or return 1
  end
end

# Whether the verb is that one, and its word one of those that follow.
function __sealkey_in
  set -l typed (__sealkey_operands)
  test "$typed[1]" = "$argv[1]"; or return 1
  set -q argv[2]; or return 0
  contains -- "$typed[2]" $argv[2..-1]
end

# What only the program can tell.
function __sealkey_list
  set -l tokens (commandline -opc)
  $tokens[1] __complete $argv[1] 2>/dev/null
end

function __sealkey_commands
  printf '%s\t%s\n' list 'Show the security keys that are plugged in, and the card readers.'
  printf '%s\t%s\n' watch 'Show keys and cards as they come and go, one line for each event, until Ctrl-C.'
  printf '%s\t%s\n' info 'Show what a key is and what Seal can do with it.'
  printf '%s\t%s\n' register 'Register a key: make the credential that is a person\'s identity.'
  printf '%s\t%s\n' endorse 'Let a device speak for an identity.'
  printf '%s\t%s\n' sign-in 'Find out whose key this is, and let a device of this computer speak for them.'
  printf '%s\t%s\n' sponsor 'Register a key for somebody else: it will be their identity, and opens what is left for them.'
  printf '%s\t%s\n' unlock 'Show that a key opens the identity that was registered on it. Nothing is kept unless you say so.'
  printf '%s\t%s\n' tap 'Tap to release: from an estate\'s record, or from an estate, an epoch, a claim and the record\'s head.'
  printf '%s\t%s\n' confirm 'Confirm that you still have your key, once a year. It never counts towards a release.'
  printf '%s\t%s\n' meet 'Two people met: the friend taps on your computer, and your device signs the other direction.'
  printf '%s\t%s\n' receipt 'Something changes hands: the receiver taps on the giver\'s computer, and both have signed the same.'
  printf '%s\t%s\n' backup 'Give an identity a second key, or say that one is dead.'
  printf '%s\t%s\n' revoke-device 'Say that a device does not speak for an identity any more.'
  printf '%s\t%s\n' delete 'Delete an identity for good: its root signs a marker that nothing takes back.'
  printf '%s\t%s\n' request 'Write the standard WebAuthn options for a browser or a phone, and what checks the answer later.'
  printf '%s\t%s\n' import 'Take the answer of a browser or a phone to a request, check it, and make Seal\'s artefact of it.'
  printf '%s\t%s\n' capsule 'Check a whole record of an estate, explain it, or unite several.'
  printf '%s\t%s\n' verify 'Check any file of this program or of Seal\'s.'
  printf '%s\t%s\n' inspect 'Decode and explain WebAuthn, COSE, CTAP or Seal bytes.'
  printf '%s\t%s\n' commitment 'Print the preimage and the hash of anything Seal has people sign.'
  printf '%s\t%s\n' directory 'Keep identity records on this computer: import them or parts of them, list them, pin a root key, hand them on.'
  printf '%s\t%s\n' store 'Check what this computer keeps.'
  printf '%s\t%s\n' device 'This computer\'s devices: make one, list them, show the public side for endorsing it elsewhere.'
  printf '%s\t%s\n' pin 'Set a key\'s first PIN, change it, or see how many tries are left.'
  printf '%s\t%s\n' passkeys 'The passkeys that a key stores: list, rename or delete them.'
  printf '%s\t%s\n' fingerprints 'The fingerprints that a key knows: list, add, rename or remove them.'
  printf '%s\t%s\n' settings 'A key\'s own settings: show them, or change one. Each is explained before it is changed.'
  printf '%s\t%s\n' matrix 'Measure a key for the interop matrix, and keep the matrix.'
  printf '%s\t%s\n' doctor 'Look for whatever stands between you and your keys, and say what to do about it.'
  printf '%s\t%s\n' demo 'Do the whole job on the built-in virtual key: register, endorse, tap, verify.'
  printf '%s\t%s\n' virtual 'Host the built-in virtual key for other programs.'
  printf '%s\t%s\n' help 'Say how a command is used, or explain a topic.'
  printf '%s\ttopic\n' lost
  printf '%s\ttopic\n' reset
end

complete -c sealkey -f
complete -c sealkey -l key -x -a '(__sealkey_list keys)' -d 'the key to use: /dev/hidrawN, nfc[:READER], a short id, virtual[:MODEL], udp:PORT[:REPLYPORT]'
complete -c sealkey -l json -d 'print one JSON object'
complete -c sealkey -l quiet -d 'say nothing but results and errors'
complete -c sealkey -l timeout -x -d 'how long to wait for a touch (30)'
complete -c sealkey -l pin-fd -x -d 'read the PIN from file descriptor N, up to a line end'
complete -c sealkey -l passphrase-fd -x -d 'read a device\'s passphrase from file descriptor N, up to a line end'
complete -c sealkey -l pinentry -x -d 'ask for the PIN with this pinentry program (without a terminal: the system\'s own)'
complete -c sealkey -l replace -d 'replace a file that is there already (without it: fileExists)'
complete -c sealkey -l last-tries -d 'try a PIN even when three tries or fewer are left'
complete -c sealkey -l virtual-touch -x -a 'auto prompt' -d 'who touches the virtual key: auto, prompt or milliseconds (auto)'
complete -c sealkey -l data-dir -x -a '(__fish_complete_directories)' -d 'where this computer\'s files are kept'
complete -c sealkey -l yes -d 'answer yes to questions that say that --yes answers them'
complete -c sealkey -l help -d 'say how the command is used'
complete -c sealkey -n '__sealkey_at 0' -l version -d 'say which version this is'

complete -c sealkey -n '__sealkey_at 0' -a list -d 'Show the security keys that are plugged in, and the card readers.'

complete -c sealkey -n '__sealkey_at 0' -a watch -d 'Show keys and cards as they come and go, one line for each event, until Ctrl-C.'

complete -c sealkey -n '__sealkey_at 0' -a info -d 'Show what a key is and what Seal can do with it.'

complete -c sealkey -n '__sealkey_at 0' -a register -d 'Register a key: make the credential that is a person\'s identity.'
complete -c sealkey -n '__sealkey_in register' -l name -x -d 'the person\'s name as others will see it'
complete -c sealkey -n '__sealkey_in register' -l endorse -d 'endorse a device in the same go (a second touch)'
complete -c sealkey -n '__sealkey_in register' -l device -rF -a '(__sealkey_list devices)' -d 'the device to endorse, kept here or in a file; made when the file is absent'
complete -c sealkey -n '__sealkey_in register' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in register' -l no-store -d 'keep nothing of this on this computer'
complete -c sealkey -n '__sealkey_in register' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in register' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a endorse -d 'Let a device speak for an identity.'
complete -c sealkey -n '__sealkey_in endorse' -l identity -rF -a '(__sealkey_list people)' -d 'the identity: as it is known here, or the record that registration wrote'
complete -c sealkey -n '__sealkey_in endorse' -l device -rF -a '(__sealkey_list devices)' -d 'a device of this computer, kept here or in a file; made when the file is absent'
complete -c sealkey -n '__sealkey_in endorse' -l device-public-key -x -d 'the public key of a device made elsewhere, 65 bytes'
complete -c sealkey -n '__sealkey_in endorse' -l kem-bundle -x -d 'its key bundle, 32 or 1220 bytes'
complete -c sealkey -n '__sealkey_in endorse' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in endorse' -l no-store -d 'keep nothing of this on this computer'
complete -c sealkey -n '__sealkey_in endorse' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in endorse' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a sign-in -d 'Find out whose key this is, and let a device of this computer speak for them.'
complete -c sealkey -n '__sealkey_in sign-in' -l passkey -d 'let the key choose a passkey, instead of asking for each known credential'
complete -c sealkey -n '__sealkey_in sign-in' -l device -rF -a '(__sealkey_list devices)' -d 'the device to endorse; made when there is none of that name (this-computer)'
complete -c sealkey -n '__sealkey_in sign-in' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in sign-in' -l no-store -d 'keep nothing of this on this computer'
complete -c sealkey -n '__sealkey_in sign-in' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in sign-in' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a sponsor -d 'Register a key for somebody else: it will be their identity, and opens what is left for them.'
complete -c sealkey -n '__sealkey_in sponsor' -l name -x -d 'their name as others will see it'
complete -c sealkey -n '__sealkey_in sponsor' -l out -rF -d 'where the identity record goes, with the locked halves in it'
complete -c sealkey -n '__sealkey_in sponsor' -l lock -rF -d 'where the lock goes by itself, to hand over (beside --out)'
complete -c sealkey -n '__sealkey_in sponsor' -l sheet -rF -d 'where the sheet to print and hand over goes (beside --out)'
complete -c sealkey -n '__sealkey_in sponsor' -l no-prove -d 'do not ask the key a second time; the lock may then not open when it matters'
complete -c sealkey -n '__sealkey_in sponsor' -l no-store -d 'keep nothing of this on this computer'

complete -c sealkey -n '__sealkey_at 0' -a unlock -d 'Show that a key opens the identity that was registered on it. Nothing is kept unless you say so.'
complete -c sealkey -n '__sealkey_at 1 unlock' -F
complete -c sealkey -n '__sealkey_in unlock' -l store -x -d 'keep the private halves on this computer, as a device of that name'
complete -c sealkey -n '__sealkey_in unlock' -l protect -d 'ask for a passphrase for what is kept (--store)'
complete -c sealkey -n '__sealkey_in unlock' -l identity -rF -d 'the identity record, when FILE is the lock alone and does not say whose it is'

complete -c sealkey -n '__sealkey_at 0' -a tap -d 'Tap to release: from an estate\'s record, or from an estate, an epoch, a claim and the record\'s head.'
complete -c sealkey -n '__sealkey_in tap' -l capsule -rF -d 'the estate\'s record'
complete -c sealkey -n '__sealkey_in tap' -l into -rF -d 'write the record there too, with the new entry and all that this computer has seen; FILE may be that of --capsule itself, of which nothing is lost'
complete -c sealkey -n '__sealkey_in tap' -l identity -rF -d 'the key holder\'s identity record (else the one known here)'
complete -c sealkey -n '__sealkey_in tap' -l device -rF -a '(__sealkey_list devices)' -d 'the device that signs the entry (else the one of this computer that can)'
complete -c sealkey -n '__sealkey_in tap' -l owner-key -x -d 'the owner\'s root key, 64 bytes, known from elsewhere: it is pinned'
complete -c sealkey -n '__sealkey_in tap' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in tap' -l claim -x -d 'the claim\'s id (with a record: the current one)'
complete -c sealkey -n '__sealkey_in tap' -l use-record-times -d 'take a claim that carries a trusted timestamp at that time, although this computer saw it later'
complete -c sealkey -n '__sealkey_in tap' -l last-sign -x -d 'the time or the day (UTC) of the owner\'s last sign as it was shown to you, or none: answers the question about it'
complete -c sealkey -n '__sealkey_in tap' -l estate -x -d 'without a record: the estate\'s id'
complete -c sealkey -n '__sealkey_in tap' -l epoch -x -d 'without a record: the epoch\'s number'
complete -c sealkey -n '__sealkey_in tap' -l head -x -d 'without --capsule: digest of the record\'s newest event, 32 bytes; \'\' when it has none'
complete -c sealkey -n '__sealkey_in tap' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in tap' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a confirm -d 'Confirm that you still have your key, once a year. It never counts towards a release.'
complete -c sealkey -n '__sealkey_in confirm' -l capsule -rF -d 'the estate\'s record'
complete -c sealkey -n '__sealkey_in confirm' -l into -rF -d 'write the record there too, with the new entry and all that this computer has seen; FILE may be that of --capsule itself, of which nothing is lost'
complete -c sealkey -n '__sealkey_in confirm' -l identity -rF -d 'the key holder\'s identity record (else the one known here)'
complete -c sealkey -n '__sealkey_in confirm' -l device -rF -a '(__sealkey_list devices)' -d 'the device that signs the entry (else the one of this computer that can)'
complete -c sealkey -n '__sealkey_in confirm' -l owner-key -x -d 'the owner\'s root key, 64 bytes, known from elsewhere: it is pinned'
complete -c sealkey -n '__sealkey_in confirm' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in confirm' -l estate -x -d 'without a record: the estate\'s id'
complete -c sealkey -n '__sealkey_in confirm' -l epoch -x -d 'without a record: the epoch\'s number'
complete -c sealkey -n '__sealkey_in confirm' -l head -x -d 'without --capsule: digest of the record\'s newest event, 32 bytes; \'\' when it has none'
complete -c sealkey -n '__sealkey_in confirm' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in confirm' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a meet -d 'Two people met: the friend taps on your computer, and your device signs the other direction.'
complete -c sealkey -n '__sealkey_in meet' -l me -rF -a '(__sealkey_list people)' -d 'your identity'
complete -c sealkey -n '__sealkey_in meet' -l device -rF -a '(__sealkey_list devices)' -d 'your device, endorsed in your identity'
complete -c sealkey -n '__sealkey_in meet' -l friend -rF -a '(__sealkey_list people)' -d 'the identity of the friend who taps'
complete -c sealkey -n '__sealkey_in meet' -l handshake -rF -d 'where your device\'s word goes (beside --out)'
complete -c sealkey -n '__sealkey_in meet' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in meet' -l no-store -d 'keep nothing of this on this computer'
complete -c sealkey -n '__sealkey_in meet' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in meet' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a receipt -d 'Something changes hands: the receiver taps on the giver\'s computer, and both have signed the same.'
complete -c sealkey -n '__sealkey_in receipt' -l giver -rF -a '(__sealkey_list people)' -d 'the identity of whoever gives'
complete -c sealkey -n '__sealkey_in receipt' -l device -rF -a '(__sealkey_list devices)' -d 'the giver\'s device, endorsed in that identity'
complete -c sealkey -n '__sealkey_in receipt' -l receiver -rF -a '(__sealkey_list people)' -d 'the identity of whoever receives, and taps'
complete -c sealkey -n '__sealkey_in receipt' -l item -x -d 'what changes hands'
complete -c sealkey -n '__sealkey_in receipt' -l photo -rF -d 'a picture of it'
complete -c sealkey -n '__sealkey_in receipt' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in receipt' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in receipt' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a backup -d 'Give an identity a second key, or say that one is dead.'
complete -c sealkey -n '__sealkey_at 1 backup' -a 'add revoke'
complete -c sealkey -n '__sealkey_in backup' -l identity -rF -a '(__sealkey_list people)' -d 'the identity'
complete -c sealkey -n '__sealkey_in backup' -l label -x -d 'what the backup is called (add); which one (revoke)'
complete -c sealkey -n '__sealkey_in backup add' -l new-key -x -a '(__sealkey_list keys)' -d 'the new key, while --key is the root\'s; asked to be swapped when not given'
complete -c sealkey -n '__sealkey_in backup' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in backup' -l no-store -d 'keep nothing of this on this computer'
complete -c sealkey -n '__sealkey_in backup' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in backup' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a revoke-device -d 'Say that a device does not speak for an identity any more.'
complete -c sealkey -n '__sealkey_in revoke-device' -l identity -rF -a '(__sealkey_list people)' -d 'the identity'
complete -c sealkey -n '__sealkey_in revoke-device' -l device -rF -a '(__sealkey_list devices)' -d 'a device of this computer'
complete -c sealkey -n '__sealkey_in revoke-device' -l device-public-key -x -d 'the public key of any device of the identity, or its first 8 digits or more'
complete -c sealkey -n '__sealkey_in revoke-device' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in revoke-device' -l no-store -d 'keep nothing of this on this computer'
complete -c sealkey -n '__sealkey_in revoke-device' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in revoke-device' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a delete -d 'Delete an identity for good: its root signs a marker that nothing takes back.'
complete -c sealkey -n '__sealkey_in delete' -l identity -rF -a '(__sealkey_list people)' -d 'the identity'
complete -c sealkey -n '__sealkey_in delete' -l no-uv -d 'do not ask for the PIN where the key does not insist'
complete -c sealkey -n '__sealkey_in delete' -l no-store -d 'keep nothing of this on this computer'
complete -c sealkey -n '__sealkey_in delete' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in delete' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a request -d 'Write the standard WebAuthn options for a browser or a phone, and what checks the answer later.'
complete -c sealkey -n '__sealkey_at 1 request' -a 'register endorse tap confirm revoke-device delete'
complete -c sealkey -n '__sealkey_in request' -l pending -rF -d 'where to keep what \'sealkey import\' needs'
complete -c sealkey -n '__sealkey_in request' -l out -rF -d 'write the options there instead of to stdout'
complete -c sealkey -n '__sealkey_in request register' -l name -x -d 'the person\'s name'
complete -c sealkey -n '__sealkey_in request endorse tap confirm revoke-device delete' -l identity -rF -a '(__sealkey_list people)' -d 'whose passkey signs'
complete -c sealkey -n '__sealkey_in request endorse revoke-device' -l device -rF -a '(__sealkey_list devices)' -d 'a device of this computer'
complete -c sealkey -n '__sealkey_in request tap confirm' -l estate -x -d 'the estate\'s id'
complete -c sealkey -n '__sealkey_in request tap confirm' -l epoch -x -d 'the epoch\'s number'
complete -c sealkey -n '__sealkey_in request tap' -l claim -x -d 'the claim\'s id'
complete -c sealkey -n '__sealkey_in request tap confirm' -l head -x -d 'digest of the record\'s newest event, 32 bytes; \'\' when it has none'

complete -c sealkey -n '__sealkey_at 0' -a import -d 'Take the answer of a browser or a phone to a request, check it, and make Seal\'s artefact of it.'
complete -c sealkey -n '__sealkey_at 1 import' -F
complete -c sealkey -n '__sealkey_in import' -l pending -rF -d 'what \'sealkey request\' kept'
complete -c sealkey -n '__sealkey_in import' -l no-store -d 'keep nothing of this on this computer'
complete -c sealkey -n '__sealkey_in import' -l out -rF -d 'write the result there instead of to stdout'
complete -c sealkey -n '__sealkey_in import' -l seal -d 'write only Seal\'s own JSON'

complete -c sealkey -n '__sealkey_at 0' -a capsule -d 'Check a whole record of an estate, explain it, or unite several.'
complete -c sealkey -n '__sealkey_at 1 capsule' -a 'verify show merge'
complete -c sealkey -n '__sealkey_at 2 capsule verify' -F
complete -c sealkey -n '__sealkey_at 2 capsule show' -F
complete -c sealkey -n '__sealkey_at 2+ capsule merge' -F
complete -c sealkey -n '__sealkey_in capsule' -l strict -d 'take for bad what Seal takes for a note'
complete -c sealkey -n '__sealkey_in capsule' -l owner-key -x -d 'the owner\'s root key, 64 bytes, known from elsewhere'
complete -c sealkey -n '__sealkey_in capsule' -l identity -rF -d 'an identity record that you trust; its backups and revocations count; may be repeated'
complete -c sealkey -n '__sealkey_in capsule' -l timestamp-pin -x -d 'SHA-256 of the certificate of a timestamp authority to trust; may be repeated'
complete -c sealkey -n '__sealkey_in capsule' -l no-store -d 'keep nothing of this on this computer'
complete -c sealkey -n '__sealkey_in capsule merge' -l out -rF -d 'where the united record goes'

complete -c sealkey -n '__sealkey_at 0' -a verify -d 'Check any file of this program or of Seal\'s.'
complete -c sealkey -n '__sealkey_at 1 verify' -F
complete -c sealkey -n '__sealkey_in verify' -l public-key -x -d 'the root\'s public key, 64 bytes, known from elsewhere'
complete -c sealkey -n '__sealkey_in verify' -l challenge -x -d 'the challenge of a bare stored assertion'
complete -c sealkey -n '__sealkey_in verify' -l identity -rF -a '(__sealkey_list people)' -d 'whoever made it: as they are known here, or their record; may be repeated'

complete -c sealkey -n '__sealkey_at 0' -a inspect -d 'Decode and explain WebAuthn, COSE, CTAP or Seal bytes.'
complete -c sealkey -n '__sealkey_at 1 inspect' -F -a '-'

complete -c sealkey -n '__sealkey_at 0' -a commitment -d 'Print the preimage and the hash of anything Seal has people sign.'
complete -c sealkey -n '__sealkey_at 1 commitment' -f -a '(__sealkey_list commitments)'

complete -c sealkey -n '__sealkey_at 0' -a directory -d 'Keep identity records on this computer: import them or parts of them, list them, pin a root key, hand them on.'
complete -c sealkey -n '__sealkey_at 1 directory' -a 'import list pin export'
complete -c sealkey -n '__sealkey_at 2+ directory import' -F
complete -c sealkey -n '__sealkey_at 2 directory pin' -f -a '(__sealkey_list people)'
complete -c sealkey -n '__sealkey_in directory export' -l out -rF -d 'where the records go'

complete -c sealkey -n '__sealkey_at 0' -a store -d 'Check what this computer keeps.'
complete -c sealkey -n '__sealkey_at 1 store' -a 'check'

complete -c sealkey -n '__sealkey_at 0' -a device -d 'This computer\'s devices: make one, list them, show the public side for endorsing it elsewhere.'
complete -c sealkey -n '__sealkey_at 1 device' -a 'list make export passphrase'
complete -c sealkey -n '__sealkey_at 2 device make' -f -a '(__sealkey_list devices)'
complete -c sealkey -n '__sealkey_at 2 device export' -f -a '(__sealkey_list devices)'
complete -c sealkey -n '__sealkey_at 2 device passphrase' -f -a 'set change remove'
complete -c sealkey -n '__sealkey_at 3 device passphrase' -f -a '(__sealkey_list devices)'
complete -c sealkey -n '__sealkey_in device make' -l protect -d 'ask for a passphrase for the private halves'
complete -c sealkey -n '__sealkey_in device passphrase' -l new-passphrase-fd -x -d 'read the new passphrase of a change from file descriptor N'

complete -c sealkey -n '__sealkey_at 0' -a pin -d 'Set a key\'s first PIN, change it, or see how many tries are left.'
complete -c sealkey -n '__sealkey_at 1 pin' -a 'status set change'
complete -c sealkey -n '__sealkey_in pin change' -l new-pin-fd -x -d 'read the new PIN from file descriptor N, up to a line end'

complete -c sealkey -n '__sealkey_at 0' -a passkeys -d 'The passkeys that a key stores: list, rename or delete them.'
complete -c sealkey -n '__sealkey_at 1 passkeys' -a 'list rename delete'
complete -c sealkey -n '__sealkey_in passkeys rename' -l display-name -x -d 'the person\'s name as sites show it; NAME when not given'

complete -c sealkey -n '__sealkey_at 0' -a fingerprints -d 'The fingerprints that a key knows: list, add, rename or remove them.'
complete -c sealkey -n '__sealkey_at 1 fingerprints' -a 'list add rename remove'

complete -c sealkey -n '__sealkey_at 0' -a settings -d 'A key\'s own settings: show them, or change one. Each is explained before it is changed.'
complete -c sealkey -n '__sealkey_at 1 settings' -a 'show always-uv min-pin-length require-pin-change'
complete -c sealkey -n '__sealkey_at 2 settings always-uv' -f -a 'on off'

complete -c sealkey -n '__sealkey_at 0' -a matrix -d 'Measure a key for the interop matrix, and keep the matrix.'
complete -c sealkey -n '__sealkey_at 1 matrix' -a 'run second-host verify fill check diff report atlas'
complete -c sealkey -n '__sealkey_at 2 matrix second-host' -F
complete -c sealkey -n '__sealkey_at 2+ matrix verify' -F
complete -c sealkey -n '__sealkey_at 2 matrix fill' -F
complete -c sealkey -n '__sealkey_at 2 matrix check' -F
complete -c sealkey -n '__sealkey_at 2 matrix diff' -F
complete -c sealkey -n '__sealkey_at 3 matrix diff' -F
complete -c sealkey -n '__sealkey_in matrix run' -l tester -x -d 'who runs it'
complete -c sealkey -n '__sealkey_in matrix run' -l repeat -x -d 'how often each step is tried, 1 to 20'
complete -c sealkey -n '__sealkey_in matrix run' -l also -x -a 'nfc' -d 'the same once more over NFC'
complete -c sealkey -n '__sealkey_in matrix run' -l model -x -a '(__sealkey_list models)' -d 'what the key is called, where the computer does not tell'
complete -c sealkey -n '__sealkey_in matrix run' -l serial -x -d 'write this serial number into the record'
complete -c sealkey -n '__sealkey_in matrix run' -l finish -d 'end a run that was begun, without its other steps'
complete -c sealkey -n '__sealkey_in matrix' -l runs -x -a '(__fish_complete_directories)' -d 'the records of real keys (matrix/runs)'
complete -c sealkey -n '__sealkey_in matrix' -l practice -x -a '(__fish_complete_directories)' -d 'where runs of virtual keys go (matrix/practice)'
complete -c sealkey -n '__sealkey_in matrix report atlas' -l out -rF -d 'where the page goes'
complete -c sealkey -n '__sealkey_in matrix atlas' -l page -rF -d 'write the atlas as a page for a browser, too'
complete -c sealkey -n '__sealkey_in matrix atlas verify' -l metadata -rF -d 'the FIDO Metadata Service\'s signed BLOB, or its decoded payload'
complete -c sealkey -n '__sealkey_in matrix atlas verify' -l root -rF -d 'the DER certificate that the BLOB\'s signer leads to, instead of FIDO\'s'
complete -c sealkey -n '__sealkey_in matrix atlas verify' -l expired-ok -d 'take metadata whose time is over'

complete -c sealkey -n '__sealkey_at 0' -a doctor -d 'Look for whatever stands between you and your keys, and say what to do about it.'

complete -c sealkey -n '__sealkey_at 0' -a demo -d 'Do the whole job on the built-in virtual key: register, endorse, tap, verify.'
complete -c sealkey -n '__sealkey_in demo' -l dir -x -a '(__fish_complete_directories)' -d 'where to put the files (sealkey-demo)'
complete -c sealkey -n '__sealkey_in demo' -l capsule -rF -d 'write a whole made-up estate there instead'
complete -c sealkey -n '__sealkey_in demo' -l stage -x -a 'sealed overdue claimed open authorized released' -d 'with --capsule, how far its story goes (released): sealed, overdue, claimed, open, authorized or released'
complete -c sealkey -n '__sealkey_in demo' -l people -x -a '(__fish_complete_directories)' -d 'with --capsule, keep everybody\'s virtual key, identity and device there, to play them'

complete -c sealkey -n '__sealkey_at 0' -a virtual -d 'Host the built-in virtual key for other programs.'
complete -c sealkey -n '__sealkey_at 1 virtual' -a 'run models'
complete -c sealkey -n '__sealkey_in virtual run' -l udp -x -d 'answer 64-byte reports on a loopback UDP port; 0 chooses one'
complete -c sealkey -n '__sealkey_in virtual run' -l uhid -d 'be a USB key of this computer\'s kernel (needs root and the module uhid)'
complete -c sealkey -n '__sealkey_in virtual run' -l usb-gadget -d 'be a true USB device (needs root, libcomposite, usb_f_hid and a controller)'
complete -c sealkey -n '__sealkey_in virtual run' -l vpcd -x -d 'be a contactless card on vpcd\'s reader, which connects to PORT and the next (0 chooses two); or connect to it'
complete -c sealkey -n '__sealkey_in virtual run' -l card -x -d 'how that card is odd: no-extended, response:255, tap-for-each, ...'
complete -c sealkey -n '__sealkey_in virtual run' -l lift -x -d 'lift that card at its N-th APDU; SIGUSR1 lifts it too, SIGUSR2 lays it on again'
complete -c sealkey -n '__sealkey_in virtual run' -l model -x -a '(__sealkey_list models)' -d 'the model to imitate (virtual)'
complete -c sealkey -n '__sealkey_in virtual run' -l fault -x -d 'let things go wrong: to-key:3:drop, to-host:5:delay:100, command:2:busy'

complete -c sealkey -n '__sealkey_at 0' -a help -d 'Say how a command is used, or explain a topic.'
complete -c sealkey -n '__sealkey_at 1 help' -f -a '(__sealkey_commands)'
