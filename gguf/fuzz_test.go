package gguf

import "testing"

// FuzzRead reads arbitrary bytes: no panic, no more memory than promised, and
// whatever opens is consistent.
func FuzzRead(f *testing.F) {
	f.Add(smallFile(f))
	for _, test := range malformed {
		b := &builder{}
		test.build(b)
		if len(b.b) < 1<<10 {
			f.Add(b.b)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var file *File
		var err error
		if n := allocated(func() { file, err = readBytes(data) }); n > allowed(len(data)) {
			t.Fatalf("%d bytes allocated for a file of %d", n, len(data))
		}
		if err != nil {
			return
		}
		if err := checkInvariants(file); err != nil {
			t.Fatal(err)
		}
		for key, v := range file.Metadata().All() {
			// Elements were checked on opening, so decoding cannot fail.
			if n := allocated(func() { _, err = v.Any() }); err != nil || n > allowed(len(data)) {
				t.Fatalf("%q: %d bytes allocated to decode, %v", key, n, err)
			}
		}
	})
}
