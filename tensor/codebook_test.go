package tensor

import (
	"crypto/sha256"
	"encoding/hex"
	"math/bits"
	"testing"
)

// The checksums are of the codebooks as published with the formats: the
// elements of all points, one after the other, as int8.
func TestCodebooks(t *testing.T) {
	for _, test := range []struct {
		name   string
		points []uint64
		dim    int
		sum    string
	}{
		{"iq1s", iq1sGrid()[:], 8, "07540ffc1aeaf6ad4d97e96b0fcc765aae39671d4ae4a27bbd0e796fde167c6a"},
		{"iq2xxs", iq2xxsGrid()[:], 8, "05826b5d3e472a3a78f196be62ac78acf81df0f909626e12ab9fa2a5d490dd54"},
		{"iq2xs", iq2xsGrid()[:], 8, "06e47aaca60b4dc1d9b5a3f34540437058a6b142b4d7a59d5ded769b4d1bf1de"},
		{"iq2s", iq2sGrid()[:], 8, "e1aa1473412b0552c2174c30ef22ab4073f6a181b85a17056e8249bd2932fd88"},
		{"iq3xxs", iq3xxsGrid()[:], 4, "46e35f5a997efdee6c99ce57854c8a0d4f0ff8ca57e5e8a60c0793ea580acf5d"},
		{"iq3s", iq3sGrid()[:], 4, "bd1af4945a1717c65610b0284e4628b9a1ba3b306fae3a06f6e5f597356e349f"},
	} {
		var elements []byte
		for _, p := range test.points {
			elements = append(elements, le.AppendUint64(nil, p)[:test.dim]...)
		}
		sum := sha256.Sum256(elements)
		if got := hex.EncodeToString(sum[:]); got != test.sum {
			t.Errorf("%s: checksum %s, want %s", test.name, got, test.sum)
		}
	}
}

func TestSigns(t *testing.T) {
	const v = 0x7f_3e_2b_19_0f_08_04_01
	for s := range 256 {
		mask := signs[s]
		if bits.OnesCount(uint(s))%2 == 0 && evenSigns[s&127] != mask {
			t.Errorf("evenSigns[%#x] = %#x, want %#x", s&127, evenSigns[s&127], mask)
		}
		negated := negate(v, mask)
		for i := range 8 {
			got, want := int8(negated>>(8*i)), int8(uint64(v)>>(8*i)&0xff)
			if s>>i&1 != 0 {
				want = -want
			}
			if got != want {
				t.Errorf("signs %#02x: element %d is %d, want %d", s, i, got, want)
			}
		}
	}
}
