package attn

import "gorun/tensor"

// width is the floats of a row of dim values of type t: whole blocks, and
// whole vectors.
func width(t tensor.Type, dim int) int { return roundUp(dim, max(lanes, t.BlockSize())) }

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// loadRows converts rows of dim values that begin at src[i*stride] to rows of
// float32, rotated if the type is, padded with zeros or, within a block, with what is there.
func (k *kernels) loadRows(t tensor.Type, dst []float32, dim int, src []byte, stride, ahead, rows int) {
	if rows == 0 {
		return
	}
	block, width := t.BlockSize(), width(t, dim)
	padded := roundUp(dim, block) // what a row has
	fast := padded / lanes * lanes
	if fast > 0 {
		_, _ = dst[rows*width-1], src[(rows-1)*stride+fast/block*t.BlockBytes()-1]
		k.load(dst, width, src, stride, ahead, rows, fast)
	}
	if fast == width {
		return
	}
	from, to := fast/block*t.BlockBytes(), padded/block*t.BlockBytes()
	for i := range rows {
		row := dst[i*width:][:width]
		tensor.Decode(t, row[fast:padded], src[i*stride+from:i*stride+to])
		clear(row[padded:])
	}
}
