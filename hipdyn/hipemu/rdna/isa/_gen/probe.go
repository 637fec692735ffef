package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// disassembler asks llvm-mc what words mean.
type disassembler struct {
	tool, target string
	words        [][]uint32
}

// add queues an instruction and returns its number.
func (d *disassembler) add(words ...uint32) int {
	d.words = append(d.words, words)
	return len(d.words) - 1
}

// run returns the text of each instruction, empty where it is invalid or does
// not take all of its words.
func (d *disassembler) run() []string {
	var in bytes.Buffer
	// Between two instructions stands a number, as s_nop.
	for i, w := range d.words {
		in.WriteString("[")
		for _, x := range w {
			var b [4]byte
			binary.LittleEndian.PutUint32(b[:], x)
			for _, c := range b {
				fmt.Fprintf(&in, "0x%02x ", c)
			}
		}
		fmt.Fprintf(&in, "]\n[0x%02x 0x00 0x80 0xbf]\n", i%markers)
	}
	f, err := os.CreateTemp("", "words")
	check(err)
	defer os.Remove(f.Name())
	_, err = f.Write(in.Bytes())
	check(err)
	check(f.Close())
	out, err := exec.Command(d.tool, "-arch=amdgcn", "-mcpu="+d.target, "-disassemble", f.Name()).Output()
	// It exits with 1 when any of them is invalid.
	if _, ok := err.(*exec.ExitError); !ok {
		check(err)
	}
	texts := make([]string, len(d.words))
	n := 0
	var lines []string
	s := bufio.NewScanner(bytes.NewReader(out))
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		if line == ".text" {
			continue
		}
		if line == marker(n) {
			if len(lines) == 1 {
				texts[n] = lines[0]
			}
			n++
			lines = lines[:0]
			continue
		}
		lines = append(lines, line)
	}
	check(s.Err())
	if n != len(texts) {
		check(fmt.Errorf("%s: %d of %d instructions came back", d.target, n, len(texts)))
	}
	return texts
}

// markers is the number of immediates that are printed in decimal.
const markers = 64

func marker(i int) string {
	return fmt.Sprintf("s_nop %d", i%markers)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "isa/_gen:", err)
		os.Exit(1)
	}
}
