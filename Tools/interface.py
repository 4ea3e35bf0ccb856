#!/usr/bin/env python3
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Carries the program's own table of commands (`sealkey help --json`) into the man pages and the completions.

    Tools/interface.py [--check] [SEALKEY]

Without --check it writes completions/ and, in man/*.1, whatever stands between a line `.\\" table: NAME` and the line
`.\\" end`. With --check it writes nothing, and names what differs.
"""

import json
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

HOUSE = pathlib.Path(__file__).resolve().parent.parent
NOTICE = [
    "# This Source Code Form is subject to the terms of the Mozilla Public",
    "# License, v. 2.0. If a copy of the MPL was not distributed with this",
    "# file, You can obtain one at https://mozilla.org/MPL/2.0/.",
]
MADE = "# Made by Tools/interface.py from the table of commands in the program."
PEOPLE = {"identity", "me", "friend", "giver", "receiver"}


class Word:
    """One way of using a verb: the word after it, where there is one, and what may follow."""

    def __init__(self, verb, form):
        tokens = form.replace("[", "").replace("]", "").split()
        self.name = tokens.pop(0) if tokens and tokens[0][0].islower() else None
        self.repeats = bool(tokens) and tokens[-1] == "..."
        self.kinds = [kinds(token, verb) for token in tokens if token != "..."]


class Verb:
    def __init__(self, entry, options):
        self.name, self.summary = entry["name"], entry["summary"]
        self.own, self.operands, self.examples = entry["options"], entry["operands"], entry["examples"]
        self.options = self.own + options
        self.forms = [Word(self.name, form) for form in self.operands]
        self.words = [form.name for form in self.forms if form.name]

    def options_of(self, word):
        return [o for o in self.options if not o["words"] or word in o["words"]]


def kinds(token, verb, option=None):
    """What a shell can offer for a placeholder: files, dirs, or what the program lists; `=x` is the word x itself."""
    name = option["name"] if option else None
    if option and option["choices"]:
        return [f"={choice}" for choice in option["choices"]]
    found = []
    for part in token.split("|"):
        if part == "FILE":
            found.append("files")
        elif part == "DIR":
            found.append("dirs")
        elif part == "KEY":
            found.append("keys")
        elif part == "COMMITMENT":
            found.append("commitments")
        elif part == "COMMAND":
            found.append("commands")
        elif part == "NAME" and name == "model":
            found.append("models")
        elif part == "NAME" and (name == "device" or verb == "device" and not option):
            found.append("devices")
        elif part == "NAME" and (name in PEOPLE or verb == "directory"):
            found.append("people")
        elif part and (part[0].islower() or part == "-") and ":" not in part and "=" not in part:
            found.append(f"={part}")
    return found


class Table:
    def __init__(self, program):
        self.raw = json.loads(subprocess.run([program, "help", "--json"], check=True, capture_output=True).stdout)
        self.globals = self.raw["options"]
        self.verbs = [Verb(entry, self.globals) for entry in self.raw["commands"]]
        self.topics = self.raw["topics"]

    def valued(self):
        names = {o["name"] for verb in self.verbs for o in verb.options if o.get("value")}
        return sorted(f"--{name}" for name in names)


# bash


def bash(table):
    out = [*NOTICE, "", MADE, ""]
    out += BASH_HEAD.strip("\n").replace("@VALUED@", "|".join(table.valued())).split("\n")
    out += ["", "# The options of a verb, and of its word.", "_sealkey_options() {", '  case "$1 $2" in']
    for verb in table.verbs:
        for word in verb.words or [None]:
            names = " ".join(f"--{o['name']}" for o in verb.options_of(word))
            out.append(f'    "{verb.name} {word or ""}"{"" if word else "*"}) echo "{names}" ;;')
        if verb.words:
            names = " ".join(f"--{o['name']}" for o in table.globals)
            out.append(f'    "{verb.name} "*) echo "{names}" ;;')
    names = " ".join(f"--{o['name']}" for o in table.globals)
    out += [f'    *) echo "{names} --version" ;;', "  esac", "}"]
    out += ["", "# What the value of an option may be.", "_sealkey_value() {", '  case "$1 $2" in']
    for verb in table.verbs:
        for o in verb.own:
            if o.get("value"):
                found = " ".join(kinds(o["value"], verb.name, o))
                out.append(f'    "{verb.name} --{o["name"]}") echo "{found}" ;;')
    for o in table.globals:
        if o.get("value"):
            out.append(f'    *" --{o["name"]}") echo "{" ".join(kinds(o["value"], None, o))}" ;;')
    out += ["  esac", "}"]
    out += ["", "# What the operand of that number may be.", "_sealkey_operand() {", '  case "$1 $2 $3" in']
    for verb in table.verbs:
        if verb.words:
            out.append(f'    "{verb.name}  1") echo "{" ".join("=" + w for w in verb.words)}" ;;')
        for form in verb.forms:
            first = 2 if form.name else 1
            for number, found in enumerate(form.kinds, first):
                last = form.repeats and number == first + len(form.kinds) - 1
                label = f'"{verb.name} {form.name or ""} "{"*" if last else number}'
                out.append(f'    {label}) echo "{" ".join(found)}" ;;')
    out += ["  esac", "}"]
    verbs = " ".join(f"={verb.name}" for verb in table.verbs)
    topics = " ".join(f"={topic}" for topic in table.topics)
    out += ["", f'_sealkey_commands="{verbs}"', f'_sealkey_topics="{topics}"', "", "complete -F _sealkey sealkey", ""]
    return "\n".join(out)


BASH_HEAD = r"""
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
      @VALUED@) ((i++)) ;;
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
  elif [[ " @VALUED@ " == *[\ \|]"$last"[\ \|]* ]]; then
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
"""


# zsh


def zsh_text(text):
    return re.sub(r"([\[\]:'\\])", lambda m: "'\\''" if m[1] == "'" else "\\" + m[1], text)


def zsh_action(found):
    # zsh takes a word that begins with = for a command's path.
    return "_sealkey_offer " + " ".join(kind.replace("=", "+", 1) for kind in found) if found else " "


def zsh_option(option, verb):
    name, text = option["name"], zsh_text(option["help"])
    star = "*" if option["repeatable"] else ""
    if not option.get("value"):
        return f"'{star}--{name}[{text}]'"
    return f"'{star}--{name}=[{text}]:{zsh_text(option['value'])}:{zsh_action(kinds(option['value'], verb, option))}'"


def zsh(table):
    out = ["#compdef sealkey", *NOTICE, "", MADE, "", *ZSH_HEAD.strip("\n").split("\n"), ""]
    out += ["_sealkey_globals=("] + [f"  {zsh_option(o, None)}" for o in table.globals] + [")"]
    out += ["_sealkey_commands=("]
    out += [f"  '{verb.name}:{zsh_text(verb.summary)}'" for verb in table.verbs] + [")"]
    out += [f"_sealkey_topics=({' '.join(table.topics)})", "", "_sealkey_arguments() {", "  case $1 in"]
    for verb in table.verbs:
        out.append(f"    {verb.name})")
        if verb.words:
            out.append(f"      _sealkey_words=({' '.join(verb.words)})")
            out.append(f"      case $(_sealkey_word) in")
            for form in verb.forms:
                rows = [zsh_option(o, verb.name) for o in verb.own if not o["words"] or form.name in o["words"]]
                rows += zsh_operands(form, 2)
                out.append(f"        {form.name}) _sealkey_specs=('1: : ' {' '.join(rows)}) ;;")
            out.append("        *) _sealkey_specs=('1:word:(" + " ".join(verb.words) + ")') ;;")
            out.append("      esac")
        else:
            rows = [zsh_option(o, verb.name) for o in verb.own]
            for form in verb.forms:
                rows += zsh_operands(form, 1)
            out += ["      _sealkey_specs=("] + [f"        {row}" for row in rows] + ["      )"]
        out.append("      ;;")
    out += ["  esac", "}", "", '_sealkey "$@"', ""]
    return "\n".join(out)


def zsh_operands(form, first):
    rows = []
    for number, found in enumerate(form.kinds, first):
        last = form.repeats and number == first + len(form.kinds) - 1
        rows.append(f"'{'*' if last else number}: :{zsh_action(found)}'")
    return rows


ZSH_HEAD = r"""
# Completes sealkey's commands, words, options, files, keys, people and devices.
typeset -ga _sealkey_globals _sealkey_commands _sealkey_topics _sealkey_specs _sealkey_words

_sealkey() {
  local curcontext=$curcontext state line
  local -A opt_args
  _arguments -C -S $_sealkey_globals '--version[say which version this is]' '1: :->verb' '*:: :->rest' && return
  case $state in
    verb) _describe -t commands command _sealkey_commands ;;
    rest)
      _sealkey_specs=()
      _sealkey_arguments $words[1]
      _arguments -S $_sealkey_globals $_sealkey_specs
      ;;
  esac
}

# The word after the verb, where it is one of those there are.
_sealkey_word() {
  local word
  for word in ${words[2,CURRENT-1]}; do
    if (( ${_sealkey_words[(Ie)$word]} )); then print -r -- $word; return; fi
  done
}

# Offers what there is of each kind.
_sealkey_offer() {
  local kind line
  local -a found literal
  for kind in ${@:#-*}; do
    case $kind in
      +*) literal+=(${kind#+}) ;;
      files) _files ;;
      dirs) _files -/ ;;
      commands) _describe -t commands command _sealkey_commands; literal+=($_sealkey_topics) ;;
      keys|people|devices|models|commitments)
        found=()
        for line in ${(f)"$(_call_program $kind sealkey __complete $kind)"}; do
          found+=("${${line%%$'\t'*}//:/\\:}:${${line#*$'\t'}//:/\\:}")
        done
        _describe -t $kind $kind found
        ;;
    esac
  done
  (( $#literal )) && compadd -- $literal
}
"""


# fish


def fish_quote(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_offer(found):
    """The flags that make fish offer these kinds."""
    flags = "-rF" if "files" in found else "-x"
    texts = []
    for kind in found:
        if kind.startswith("="):
            texts.append(kind[1:])
        elif kind == "dirs":
            texts.append("(__fish_complete_directories)")
        elif kind == "commands":
            texts.append("(__sealkey_commands)")
        elif kind != "files":
            texts.append(f"(__sealkey_list {kind})")
    return flags + (f" -a {fish_quote(' '.join(texts))}" if texts else "")


def fish(table):
    out = [*NOTICE, "", MADE, "", *FISH_HEAD.strip("\n").replace("@VALUED@", " ".join(table.valued())).split("\n"), ""]
    out += ["function __sealkey_commands"]
    out += [f"  printf '%s\\t%s\\n' {verb.name} {fish_quote(verb.summary)}" for verb in table.verbs]
    out += [f"  printf '%s\\ttopic\\n' {topic}" for topic in table.topics] + ["end", "", "complete -c sealkey -f"]
    for o in table.globals:
        value = fish_offer(kinds(o["value"], None, o)) if o.get("value") else ""
        out.append(f"complete -c sealkey -l {o['name']} {value} -d {fish_quote(o['help'])}".replace("  ", " "))
    out.append("complete -c sealkey -n '__sealkey_at 0' -l version -d 'say which version this is'")
    for verb in table.verbs:
        out += ["", f"complete -c sealkey -n '__sealkey_at 0' -a {verb.name} -d {fish_quote(verb.summary)}"]
        if verb.words:
            out.append(f"complete -c sealkey -n '__sealkey_at 1 {verb.name}' -a {fish_quote(' '.join(verb.words))}")
        for form in verb.forms:
            first = 2 if form.name else 1
            path = f"{verb.name} {form.name}" if form.name else verb.name
            for number, found in enumerate(form.kinds, first):
                if not found:
                    continue
                last = form.repeats and number == first + len(form.kinds) - 1
                flags = fish_offer(found).replace("-rF", "-F").replace("-x", "-f")
                out.append(f"complete -c sealkey -n '__sealkey_at {number}{'+' if last else ''} {path}' {flags}")
        for o in verb.own:
            value = fish_offer(kinds(o["value"], verb.name, o)) if o.get("value") else ""
            seen = f"__sealkey_in {verb.name} {' '.join(o['words'])}".rstrip()
            out.append(
                f"complete -c sealkey -n '{seen}' -l {o['name']} {value} -d {fish_quote(o['help'])}".replace("  ", " "))
    return "\n".join(out) + "\n"


FISH_HEAD = r"""
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
      case @VALUED@
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
"""


# man


def mdoc_text(text):
    """Text as mdoc wants it: a sentence begins a line, no line is long, and none begins like a macro."""
    lines = []
    for sentence in re.split(r"(?<=[.;?]) ", text.replace("\\", "\\e").replace("...", "\\&...")):
        lines += textwrap.wrap(sentence, 78, break_long_words=False, break_on_hyphens=False)
    return "\n".join("\\&" + line if line[:1] in ".'" else line for line in lines)


def mdoc_example(line):
    """A command line, broken where it is too long."""
    parts = textwrap.wrap(f"$ {line}", 74, break_long_words=False, break_on_hyphens=False, subsequent_indent="    ")
    return " \\e\n".join(parts)


def mdoc_tokens(form, verb):
    """An operand line of the table, in mdoc's words."""
    out = []
    for token in re.findall(r"\[[^\]]*\]|\S+", form):
        if token.startswith("["):
            out.append("Op Ar " + token[1:-1].replace("|", " | "))
        elif token == "...":
            out[-1] += " ..."
        elif token[0].islower():
            out.append("Cm " + token.replace("|", " | "))
        else:
            out.append("Ar " + token.replace("|", " | "))
    return out


def mdoc_synopsis(verb):
    lines = []
    for form in verb.operands or [""]:
        lines += [".Nm sealkey", f".Cm {verb.name}"]
        lines += [f".{token}" for token in mdoc_tokens(form, verb)] + [".Op Ar options"]
    return lines


def mdoc_options(options):
    lines = [".Bl -tag -width Ds"]
    for o in options:
        value = o.get("value")
        lines.append(f".It Fl Fl {o['name']}" + (f" Ar {value}" if value else ""))
        sentence = o["help"][:1].upper() + o["help"][1:]
        lines.append(mdoc_text(sentence) + ("" if sentence.endswith(".") else "."))
        if o["words"]:
            lines.append("Only with\n" + " ,\n".join(f".Cm {word}" for word in o["words"]) + " .")
    return lines + [".El"]


def mdoc_block(table, name, verbs):
    if name == "globals":
        return mdoc_options(table.globals)
    if name == "commands":
        lines = [".Bl -tag -width revoke-device"]
        for verb in table.verbs:
            lines += [f".It Cm {verb.name}", mdoc_text(verb.summary)]
        return lines + [".El"]
    if name == "exit":
        lines = [".Bl -tag -width 130"]
        for row in table.raw["exitCodes"]:
            meaning = row["meaning"]
            lines += [f".It {row['code']}", meaning[:1].upper() + meaning[1:] + "."]
        return lines + [".El"]
    if name == "synopsis":
        return [line for verb in verbs for line in mdoc_synopsis(verb)]
    if name == "examples":
        lines = [".Bd -literal"]
        for verb in verbs:
            lines += [mdoc_example(example) for example in verb.examples]
        return lines + [".Ed"]
    verb = next((verb for verb in table.verbs if verb.name == name), None)
    if verb is None:
        raise SystemExit(f"interface: a man page describes '{name}', and there is no such command")
    return [mdoc_text(verb.summary)] + (mdoc_options(verb.own) if verb.own else [])


BLOCK = re.compile(r'^\.\\" table: (\S+)\n(.*?)^\.\\" end\n', re.M | re.S)


def man(table, pages):
    """The pages with their blocks written anew. Every verb has its place on exactly one page."""
    special = {"globals", "commands", "exit", "synopsis", "examples"}
    placed, out = {}, {}
    for path, text in pages.items():
        names = [match[1] for match in BLOCK.finditer(text)]
        own = [verb for name in names for verb in table.verbs if verb.name == name and name not in special]
        for verb in own:
            if verb.name in placed:
                raise SystemExit(f"interface: '{verb.name}' is in {placed[verb.name]} and in {path}")
            placed[verb.name] = path

        def block(match):
            lines = mdoc_block(table, match[1], own)
            return f'.\\" table: {match[1]}\n' + "\n".join(lines) + '\n.\\" end\n'

        out[path] = BLOCK.sub(block, text)
    for verb in table.verbs:
        if verb.name not in placed:
            raise SystemExit(f"interface: no man page describes '{verb.name}'")
    return out


# the documents


def documents(table):
    """Command lines in the documents that are no commands of the program, and options in man pages that are none."""
    verbs = {verb.name: verb for verb in table.verbs}
    faults = []
    pages = [*HOUSE.glob("*.md"), *HOUSE.glob("docs/*.md"), *HOUSE.glob("matrix/*.md")]
    for path in sorted(pages):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found = [line.strip()] if re.match(r"    (\$ )?sealkey ", line) else re.findall(r"`(sealkey [^`]*)`", line)
            for command in found:
                try:
                    words = shlex.split(command.removeprefix("$ "), comments=True)[1:]
                except ValueError:
                    continue
                if fault := wrong(words, verbs, table.globals):
                    faults.append(f"{path.relative_to(HOUSE)}, line {number}: {fault}")
    known = {o["name"] for verb in table.verbs for o in verb.options} | {"version"}
    for path in sorted((HOUSE / "man").glob("*.[15]")):
        for name in re.findall(r"\bFl Fl ([a-z0-9-]+)", path.read_text()):
            if name not in known:
                faults.append(f"{path.relative_to(HOUSE)}: there is no option --{name}")
    return faults


def wrong(words, verbs, options):
    if not words or not re.fullmatch(r"[a-z-]+", words[0]) or words[0].startswith("-"):
        return None
    verb = verbs.get(words[0])
    if not verb:
        return f"there is no command '{words[0]}'"
    word = words[1] if len(words) > 1 else None
    if verb.words and word and re.fullmatch(r"[a-z-]+", word) and not word.startswith("-") and word not in verb.words:
        return f"there is no '{words[0]} {word}'"
    allowed = {f"--{o['name']}" for o in verb.options_of(word)}
    return next((f"'{w}' does not go with '{words[0]}'" for w in words
                 if w.startswith("--") and w.split("=")[0] not in allowed), None)


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    program = next((a for a in arguments if a != "--check"), str(HOUSE / ".build/debug/sealkey"))
    table = Table(program)
    wanted = {
        HOUSE / "completions/sealkey.bash": bash(table),
        HOUSE / "completions/_sealkey": zsh(table),
        HOUSE / "completions/sealkey.fish": fish(table),
    }
    wanted |= man(table, {path: path.read_text() for path in sorted((HOUSE / "man").glob("*.1"))})
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if check:
            print(f"interface: {path.relative_to(HOUSE)} does not say what the program says; run make interface")
        else:
            path.write_text(text := wanted[path])
            print(f"interface: wrote {path.relative_to(HOUSE)}")
    faults = documents(table)
    for fault in faults:
        print(f"interface: {fault}")
    stale = stale or faults
    if check and not stale:
        print(f"interface: help, man pages and completions agree on {len(table.verbs)} commands")
    sys.exit(1 if check and stale else 0)


if __name__ == "__main__":
    main()
