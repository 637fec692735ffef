package main

const nibbleMask = 0x0f0f0f0f

func unpackQ4_0(u *unpacker) func() {
	nibble := constant(nibbleMask)
	return func() {
		u.storeNibbles(u.codes(2), nibble, 0, 16)
		d := v.reg()
		v.halves(u.offset(0), d)
		u.storeScale(d, 0)
	}
}

func unpackQ8_0(u *unpacker) func() {
	bias := constant(0x80808080)
	return func() {
		for part := range 2 {
			for j, w := range u.codes(2 + 16*part) {
				v.xor(bias, w, w)
				u.storeLevels(w, 16*part+4*j)
			}
		}
		d := v.reg()
		v.halves(u.offset(0), d)
		u.storeScale(d, 0)
	}
}
