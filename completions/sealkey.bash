# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Made by Tools/interface.py from the table of commands in the program.

# Completes sealkey's commands, words, options, files, keys, people and devices.
_sealkey() {
  local line=${COMP_LINE:0:COMP_POINT} words=() before=() cur verb= word= count=0 data=() i kind value
  # Words are cut at blanks alone: a key's name has colons in it.
  read -ra words <<<"$line"
  [[ $line == *[[:blank:]] ]] && words+=('')
  cur=${words[-1]}
  for ((i = 1; i < ${#words[@]} - 1; i++)); do
    case ${words[i]} in
      --data-dir) data=(--data-dir "${words[i + 1]}") && ((i++)) ;;
      --also|--capsule|--card|--challenge|--claim|--data-dir|--device|--device-public-key|--dir|--display-name|--epoch|--estate|--fault|--friend|--giver|--handshake|--head|--identity|--into|--item|--kem-bundle|--key|--label|--last-sign|--lift|--lock|--me|--metadata|--model|--name|--new-key|--new-passphrase-fd|--new-pin-fd|--out|--owner-key|--page|--passphrase-fd|--pending|--people|--photo|--pin-fd|--pinentry|--practice|--public-key|--receiver|--repeat|--root|--runs|--serial|--sheet|--stage|--store|--tester|--timeout|--timestamp-pin|--udp|--virtual-touch|--vpcd) ((i++)) ;;
      -*) ;;
      *)
        ((count++))
        [[ $count == 1 ]] && verb=${words[i]}
        [[ $count == 2 ]] && word=${words[i]}
        ;;
    esac
  done
  [[ -z $(_sealkey_operand "$verb" '' 1) || $(_sealkey_operand "$verb" '' 1) != *=* ]] && word=
  [[ $i -gt ${#words[@]} ]] && return
  COMPREPLY=()
  local last=${words[-2]}
  if [[ $cur == --*=* ]]; then
    value=${cur#*=}
    _sealkey_reply "$value" $(_sealkey_value "$verb" "${cur%%=*}")
  elif [[ " --also|--capsule|--card|--challenge|--claim|--data-dir|--device|--device-public-key|--dir|--display-name|--epoch|--estate|--fault|--friend|--giver|--handshake|--head|--identity|--into|--item|--kem-bundle|--key|--label|--last-sign|--lift|--lock|--me|--metadata|--model|--name|--new-key|--new-passphrase-fd|--new-pin-fd|--out|--owner-key|--page|--passphrase-fd|--pending|--people|--photo|--pin-fd|--pinentry|--practice|--public-key|--receiver|--repeat|--root|--runs|--serial|--sheet|--stage|--store|--tester|--timeout|--timestamp-pin|--udp|--virtual-touch|--vpcd " == *[\ \|]"$last"[\ \|]* ]]; then
    _sealkey_reply "$cur" $(_sealkey_value "$verb" "$last")
  elif [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_sealkey_options "$verb" "$word")" -- "$cur")
  elif [[ $count == 0 ]]; then
    _sealkey_reply "$cur" $_sealkey_commands
  else
    _sealkey_reply "$cur" $(_sealkey_operand "$verb" "$word" "$count")
  fi
}

# Offers what begins like $1 of the kinds that follow.
_sealkey_reply() {
  local start=$1 kind name found=() broken=
  shift
  for kind in "$@"; do
    case $kind in
      =*) [[ ${kind#=} == "$start"* ]] && COMPREPLY+=("${kind#=}") ;;
      files | dirs)
        compopt -o filenames 2>/dev/null
        mapfile -t found < <(compgen "-${kind:0:1}" -- "$start")
        COMPREPLY+=("${found[@]}")
        ;;
      commands) _sealkey_reply "$start" $_sealkey_commands $_sealkey_topics ;;
      *)
        while IFS=$'\t' read -r name _; do
          [[ $name == "$start"* ]] && COMPREPLY+=("$(printf %q "$name")")
        done < <("${COMP_WORDS[0]}" __complete "$kind" "${data[@]}" 2>/dev/null)
        ;;
    esac
  done
  # The shell replaces only what follows the last colon.
  if [[ $start == *:* && $COMP_WORDBREAKS == *:* ]]; then
    broken=${start%"${start##*:}"}
    COMPREPLY=("${COMPREPLY[@]#"$broken"}")
  fi
}

# The options of a verb, and of its word.
_sealkey_options() {
  case "$1 $2" in
    "list "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "watch "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "info "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "register "*) echo "--name --endorse --device --no-uv --no-store --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "endorse "*) echo "--identity --device --device-public-key --kem-bundle --no-uv --no-store --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "sign-in "*) echo "--passkey --device --no-uv --no-store --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "sponsor "*) echo "--name --out --lock --sheet --no-prove --no-store --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "unlock "*) echo "--store --protect --identity --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "tap "*) echo "--capsule --into --identity --device --owner-key --no-uv --claim --use-record-times --last-sign --estate --epoch --head --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "confirm "*) echo "--capsule --into --identity --device --owner-key --no-uv --estate --epoch --head --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "meet "*) echo "--me --device --friend --handshake --no-uv --no-store --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "receipt "*) echo "--giver --device --receiver --item --photo --no-uv --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "backup add") echo "--identity --label --new-key --no-uv --no-store --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "backup revoke") echo "--identity --label --no-uv --no-store --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "backup "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "revoke-device "*) echo "--identity --device --device-public-key --no-uv --no-store --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "delete "*) echo "--identity --no-uv --no-store --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "request register") echo "--pending --out --name --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "request endorse") echo "--pending --out --identity --device --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "request tap") echo "--pending --out --identity --estate --epoch --claim --head --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "request confirm") echo "--pending --out --identity --estate --epoch --head --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "request revoke-device") echo "--pending --out --identity --device --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "request delete") echo "--pending --out --identity --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "request "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "import "*) echo "--pending --no-store --out --seal --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "capsule verify") echo "--strict --owner-key --identity --timestamp-pin --no-store --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "capsule show") echo "--strict --owner-key --identity --timestamp-pin --no-store --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "capsule merge") echo "--strict --owner-key --identity --timestamp-pin --no-store --out --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "capsule "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "verify "*) echo "--public-key --challenge --identity --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "inspect "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "commitment "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "directory import") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "directory list") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "directory pin") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "directory export") echo "--out --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "directory "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "store check") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "store "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "device list") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "device make") echo "--protect --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "device export") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "device passphrase") echo "--new-passphrase-fd --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "device "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "pin status") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "pin set") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "pin change") echo "--new-pin-fd --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "pin "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "passkeys list") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "passkeys rename") echo "--display-name --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "passkeys delete") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "passkeys "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "fingerprints list") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "fingerprints add") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "fingerprints rename") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "fingerprints remove") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "fingerprints "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "settings show") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "settings always-uv") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "settings min-pin-length") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "settings require-pin-change") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "settings "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "matrix run") echo "--tester --repeat --also --model --serial --finish --runs --practice --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "matrix second-host") echo "--runs --practice --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "matrix verify") echo "--runs --practice --metadata --root --expired-ok --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "matrix fill") echo "--runs --practice --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "matrix check") echo "--runs --practice --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "matrix diff") echo "--runs --practice --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "matrix report") echo "--runs --practice --out --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "matrix atlas") echo "--runs --practice --out --page --metadata --root --expired-ok --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "matrix "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "doctor "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "demo "*) echo "--dir --capsule --stage --people --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "virtual run") echo "--udp --uhid --usb-gadget --vpcd --card --lift --model --fault --key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "virtual models") echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "virtual "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    "help "*) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help" ;;
    *) echo "--key --json --quiet --timeout --pin-fd --passphrase-fd --pinentry --replace --last-tries --virtual-touch --data-dir --yes --help --version" ;;
  esac
}

# What the value of an option may be.
_sealkey_value() {
  case "$1 $2" in
    "register --name") echo "" ;;
    "register --device") echo "devices files" ;;
    "register --out") echo "files" ;;
    "endorse --identity") echo "people files" ;;
    "endorse --device") echo "devices files" ;;
    "endorse --device-public-key") echo "" ;;
    "endorse --kem-bundle") echo "" ;;
    "endorse --out") echo "files" ;;
    "sign-in --device") echo "devices files" ;;
    "sign-in --out") echo "files" ;;
    "sponsor --name") echo "" ;;
    "sponsor --out") echo "files" ;;
    "sponsor --lock") echo "files" ;;
    "sponsor --sheet") echo "files" ;;
    "unlock --store") echo "" ;;
    "unlock --identity") echo "files" ;;
    "tap --capsule") echo "files" ;;
    "tap --into") echo "files" ;;
    "tap --identity") echo "files" ;;
    "tap --device") echo "devices files" ;;
    "tap --owner-key") echo "" ;;
    "tap --claim") echo "" ;;
    "tap --last-sign") echo "" ;;
    "tap --estate") echo "" ;;
    "tap --epoch") echo "" ;;
    "tap --head") echo "" ;;
    "tap --out") echo "files" ;;
    "confirm --capsule") echo "files" ;;
    "confirm --into") echo "files" ;;
    "confirm --identity") echo "files" ;;
    "confirm --device") echo "devices files" ;;
    "confirm --owner-key") echo "" ;;
    "confirm --estate") echo "" ;;
    "confirm --epoch") echo "" ;;
    "confirm --head") echo "" ;;
    "confirm --out") echo "files" ;;
    "meet --me") echo "people files" ;;
    "meet --device") echo "devices files" ;;
    "meet --friend") echo "people files" ;;
    "meet --handshake") echo "files" ;;
    "meet --out") echo "files" ;;
    "receipt --giver") echo "people files" ;;
    "receipt --device") echo "devices files" ;;
    "receipt --receiver") echo "people files" ;;
    "receipt --item") echo "" ;;
    "receipt --photo") echo "files" ;;
    "receipt --out") echo "files" ;;
    "backup --identity") echo "people files" ;;
    "backup --label") echo "" ;;
    "backup --new-key") echo "keys" ;;
    "backup --out") echo "files" ;;
    "revoke-device --identity") echo "people files" ;;
    "revoke-device --device") echo "devices files" ;;
    "revoke-device --device-public-key") echo "" ;;
    "revoke-device --out") echo "files" ;;
    "delete --identity") echo "people files" ;;
    "delete --out") echo "files" ;;
    "request --pending") echo "files" ;;
    "request --out") echo "files" ;;
    "request --name") echo "" ;;
    "request --identity") echo "people files" ;;
    "request --device") echo "devices files" ;;
    "request --estate") echo "" ;;
    "request --epoch") echo "" ;;
    "request --claim") echo "" ;;
    "request --head") echo "" ;;
    "import --pending") echo "files" ;;
    "import --out") echo "files" ;;
    "capsule --owner-key") echo "" ;;
    "capsule --identity") echo "files" ;;
    "capsule --timestamp-pin") echo "" ;;
    "capsule --out") echo "files" ;;
    "verify --public-key") echo "" ;;
    "verify --challenge") echo "" ;;
    "verify --identity") echo "people files" ;;
    "directory --out") echo "files" ;;
    "device --new-passphrase-fd") echo "" ;;
    "pin --new-pin-fd") echo "" ;;
    "passkeys --display-name") echo "" ;;
    "matrix --tester") echo "" ;;
    "matrix --repeat") echo "" ;;
    "matrix --also") echo "=nfc" ;;
    "matrix --model") echo "models" ;;
    "matrix --serial") echo "" ;;
    "matrix --runs") echo "dirs" ;;
    "matrix --practice") echo "dirs" ;;
    "matrix --out") echo "files" ;;
    "matrix --page") echo "files" ;;
    "matrix --metadata") echo "files" ;;
    "matrix --root") echo "files" ;;
    "demo --dir") echo "dirs" ;;
    "demo --capsule") echo "files" ;;
    "demo --stage") echo "=sealed =overdue =claimed =open =authorized =released" ;;
    "demo --people") echo "dirs" ;;
    "virtual --udp") echo "" ;;
    "virtual --vpcd") echo "" ;;
    "virtual --card") echo "" ;;
    "virtual --lift") echo "" ;;
    "virtual --model") echo "models" ;;
    "virtual --fault") echo "" ;;
    *" --key") echo "keys" ;;
    *" --timeout") echo "" ;;
    *" --pin-fd") echo "" ;;
    *" --passphrase-fd") echo "" ;;
    *" --pinentry") echo "" ;;
    *" --virtual-touch") echo "=auto =prompt" ;;
    *" --data-dir") echo "dirs" ;;
  esac
}

# What the operand of that number may be.
_sealkey_operand() {
  case "$1 $2 $3" in
    "unlock  "1) echo "files" ;;
    "backup  1") echo "=add =revoke" ;;
    "request  1") echo "=register =endorse =tap =confirm =revoke-device =delete" ;;
    "import  "1) echo "files" ;;
    "capsule  1") echo "=verify =show =merge" ;;
    "capsule verify "2) echo "files" ;;
    "capsule show "2) echo "files" ;;
    "capsule merge "*) echo "files" ;;
    "verify  "1) echo "files" ;;
    "inspect  "1) echo "files =-" ;;
    "commitment  "1) echo "commitments" ;;
    "commitment  "*) echo "" ;;
    "directory  1") echo "=import =list =pin =export" ;;
    "directory import "*) echo "files" ;;
    "directory pin "2) echo "people" ;;
    "store  1") echo "=check" ;;
    "device  1") echo "=list =make =export =passphrase" ;;
    "device make "2) echo "devices" ;;
    "device export "2) echo "devices" ;;
    "device passphrase "2) echo "=set =change =remove" ;;
    "device passphrase "3) echo "devices" ;;
    "pin  1") echo "=status =set =change" ;;
    "passkeys  1") echo "=list =rename =delete" ;;
    "passkeys rename "2) echo "" ;;
    "passkeys rename "3) echo "" ;;
    "passkeys delete "2) echo "" ;;
    "fingerprints  1") echo "=list =add =rename =remove" ;;
    "fingerprints add "2) echo "" ;;
    "fingerprints rename "2) echo "" ;;
    "fingerprints rename "3) echo "" ;;
    "fingerprints remove "2) echo "" ;;
    "settings  1") echo "=show =always-uv =min-pin-length =require-pin-change" ;;
    "settings always-uv "2) echo "=on =off" ;;
    "settings min-pin-length "2) echo "" ;;
    "matrix  1") echo "=run =second-host =verify =fill =check =diff =report =atlas" ;;
    "matrix second-host "2) echo "files" ;;
    "matrix verify "*) echo "files" ;;
    "matrix fill "2) echo "files" ;;
    "matrix check "2) echo "files" ;;
    "matrix diff "2) echo "files" ;;
    "matrix diff "3) echo "files" ;;
    "virtual  1") echo "=run =models" ;;
    "help  "1) echo "commands" ;;
  esac
}

_sealkey_commands="=list =watch =info =register =endorse =sign-in =sponsor =unlock =tap =confirm =meet =receipt =backup =revoke-device =delete =request =import =capsule =verify =inspect =commitment =directory =store =device =pin =passkeys =fingerprints =settings =matrix =doctor =demo =virtual =help"
_sealkey_topics="=lost =reset"

complete -F _sealkey sealkey
