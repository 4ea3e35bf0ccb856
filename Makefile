# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# `make demo` and `make test` are the two that a newcomer needs. Everything else: `make help`.

SHELL := /bin/bash
SWIFT ?= swift
PREFIX ?= /usr/local
export SWIFT_BACKTRACE ?= color=no

.PHONY: help kernel terminal card debian13 pages browser demo build release install deb \
  reproducible test check format interface completions docs fuzz bench ci-full packages clean

help:
	@echo 'make demo      set up what is missing, build, and run the whole job on the built-in virtual key'
	@echo 'make test      set up what is missing, build, and run the tests'
	@echo 'make check     format, licence headers, force-unwraps; help, man pages and completions agree'
	@echo 'make format    put every Swift file into the house format'
	@echo 'make interface man pages and completions say what the program says'
	@echo 'make release   an optimised sealkey with a static Swift runtime'
	@echo 'make install   puts that, man pages and completions under $$DESTDIR$$PREFIX (/usr/local)'
	@echo 'make deb       a package for this Debian release'
	@echo 'make reproducible  builds both twice, in different folders, and compares the bytes'
	@echo 'make docs      documentation of every module, into .build/docs'
	@echo 'make completions   bash, zsh and fish themselves complete what they should'
	@echo 'make kernel    the whole job on a real kernel, in a throw-away virtual machine'
	@echo 'make terminal  prompts and PIN entry under tmux: wide, narrow and dumb terminals, real pinentry programs'
	@echo 'make card      the virtual key as a contactless card, through a real pcscd'
	@echo 'make pages     the pages that sealkey writes, in a headless Chromium and before an HTML validator'
	@echo 'make browser   headless Chromium registers and signs what sealkey asks'
	@echo 'make debian13  the tests, card and kernel on a clean Debian 13, in a chroot'
	@echo 'make fuzz      each parser under libFuzzer for SECONDS=60, or TARGETS="cbor json"'
	@echo 'make bench     speed and memory beside other programs, into docs/BENCHMARKS.md'
	@echo 'make ci-full   everything slow: sanitizers, clean machine, sweeps'

packages:
	@Tools/install-packages.sh build

# With the flags of Tools/test.sh: other flags would build everything anew.
build: packages
	@$(SWIFT) build --product sealkey -Xswiftc -warnings-as-errors

release:
	@Tools/install-packages.sh release
	@Tools/release.sh

install:
	@PREFIX=$(PREFIX) Tools/install.sh

deb: release
	@Tools/deb.sh

reproducible: packages
	@Tools/reproducible.sh

demo: build
	@.build/debug/sealkey demo

test:
	@Tools/install-packages.sh test
	@python=$$(Tools/python-env.sh) && SEALKEY_PYTHON=$$python Tools/test.sh

check:
	@$(SWIFT) format lint --strict --recursive Package.swift Sources Tests Fuzz Benchmarks
	@Tools/check-headers.sh
	@Tools/check-unwraps.sh
	@Tools/check-conformance.sh
	@Tools/check-man.sh
	@Tools/check-quirks.sh
	@if [ -x .build/debug/sealkey ]; then .build/debug/sealkey matrix check && Tools/interface.py --check; \
	else echo 'matrix, interface: not checked before sealkey is built'; fi

interface: build
	@Tools/interface.py

docs: build
	@Tools/docs.sh

completions: build
	@Tools/install-packages.sh integration
	@Tests/Integration/completions.sh

format:
	@$(SWIFT) format --in-place --recursive Package.swift Sources Tests Fuzz Benchmarks

kernel: build
	@Tools/install-packages.sh integration
	@$(SWIFT) build --build-tests -Xswiftc -warnings-as-errors
	@Tests/Integration/kernel.sh
	@Tests/Integration/gadget.sh
	@Tests/Integration/faults.sh
	@Tests/Integration/doctor.sh

terminal: build
	@Tools/install-packages.sh integration
	@Tests/Integration/terminal.sh
	@Tests/Integration/everycommand.sh

debian13:
	@command -v debootstrap >/dev/null || apt-get install -y -q --no-install-recommends debootstrap
	@Tools/debian13.sh

card: build
	@Tools/install-packages.sh integration
	@Tests/Integration/card.sh

pages: build
	@Tools/install-packages.sh browser
	@Tests/Integration/pages.sh

browser: build
	@Tools/install-packages.sh browser
	@Tests/Integration/browser.sh

fuzz: packages
	@Tools/fuzz.sh $(or $(SECONDS),60) $(TARGETS)

# Measures this machine as it is: let nothing else run.
bench: release
	@Tools/bench.sh

ci-full:
	@Tools/ci-full.sh

clean:
	rm -rf .build .cache
