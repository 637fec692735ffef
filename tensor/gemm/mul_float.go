package gemm

import "gorun/tensor"

const (
	// lanes is the number of partial sums of a float product.
	lanes = 16

	// floatPanel rows are multiplied with floatColumns columns before the
	// next ones. The weights, columns and partial sums of that are in the second cache, so few
	// of either mean that the other is fetched from afar more often.
	floatPanel   = 64
	floatColumns = 60
)

// floatSizes lists the types with float kernels and their size in bytes.
var floatSizes = map[tensor.Type]int{tensor.F32: 4, tensor.F16: 2, tensor.BF16: 2}

// floatScratchBytes is the scratch for chunks of k elements: the partial sums,
// the last elements of each row of a panel padded to 16 and, for types
// without kernels, the dequantized panel.
func floatScratchBytes(t tensor.Type, k int) int {
	size, ok := floatSizes[t]
	n := columnsSize + 4*lanes*floatPanel*floatColumns + 3*alignment
	if ok {
		return n + floatPanel*lanes*size
	}
	return n + floatPanel*4*roundUp(k, lanes)
}

// float multiplies float weights, and any that can be dequantized.
func (p *product) float(scratch []byte) {
	chunk := chunk
	if _, ok := floatSizes[p.t]; ok && p.n == 1 {
		chunk = roundUp(p.cols, lanes) // nothing is used twice
	}
	cols, scratch := takeColumns(scratch)
	partial, scratch := takeFloats(scratch, lanes*floatPanel*floatColumns)
	for row := 0; row < p.rows; row += floatPanel {
		rows := min(floatPanel, p.rows-row)
		for first := 0; first < p.n; first += floatColumns {
			n := min(floatColumns, p.n-first)
			sums := partial[:lanes*rows*n]
			clear(sums)
			for k := 0; k < p.cols; k += chunk {
				p.floatChunk(cols, sums, scratch, row, rows, first, n, k, min(chunk, p.cols-k))
			}
			for c := range n {
				out := p.dst[at(p.dstRows, first+c)*p.dstStride+row:][:rows]
				p.set.reduce(out, sums[lanes*rows*c:][:lanes*rows])
			}
		}
	}
}

// floatChunk adds the products of elements [k, k+size).
func (p *product) floatChunk(cols columns, sums []float32, scratch []byte, row, rows, first, n, k, size int) {
	elem, ok := floatSizes[p.t]
	if !ok {
		w, stride := p.dequantize(scratch, row, rows, k, size)
		p.floatMultiply(tensor.F32, cols, sums, w, stride, rows, first, n, k, size/lanes)
		return
	}
	w := p.w[row*p.rowBytes+k*elem:]
	p.floatMultiply(p.t, cols, sums, w, p.rowBytes, rows, first, n, k, size/lanes)
	if rest := size % lanes; rest != 0 {
		k, size = k+size-rest, rest
		tail, _ := take(scratch, rows*lanes*elem)
		clear(tail)
		for r := range rows {
			copy(tail[r*lanes*elem:], p.w[(row+r)*p.rowBytes+k*elem:][:size*elem])
		}
		p.floatMultiply(p.t, cols, sums, tail, lanes*elem, rows, first, n, k, 1)
	}
}

// dequantize converts a chunk of rows to float32, padded to a multiple of 16.
func (p *product) dequantize(scratch []byte, row, rows, k, size int) (w []byte, stride int) {
	block, bytes := p.t.BlockSize(), p.t.BlockBytes()
	padded := roundUp(size, lanes)
	values, _ := takeFloats(scratch, rows*padded)
	for r := range rows {
		out := values[r*padded:][:padded]
		tensor.Dequantize(p.t, out[:size], p.w[(row+r)*p.rowBytes+k/block*bytes:][:size/block*bytes])
		clear(out[size:])
	}
	return bytesOf(values), 4 * padded
}

// floatMultiply adds the products of steps times 16 elements from k on.
func (p *product) floatMultiply(t tensor.Type, cols columns, sums []float32, w []byte, stride, rows, first, n, k, steps int) {
	if steps == 0 {
		return
	}
	kernels := p.set.float[t]
	for c := 0; c < n; {
		width := 0
		for floatWidths[width] > n-c {
			width++
		}
		from, to := cols.from[:floatWidths[width]], cols.to[:floatWidths[width]]
		for i := range from {
			from[i] = at(p.xRows, first+c+i)*p.xBytes + 4*k
			to[i] = (c + i) * rows
		}
		for r := 0; r < rows; {
			kernel, count := kernels.rows4[width], 4
			if rows-r < 4 {
				kernel, count = kernels.row1[width], 1
			}
			ahead := count * stride
			switch {
			case len(w) > (r+count)*stride:
			case t == p.t:
				ahead = p.beyond(w[r*stride:])
			default:
				ahead = 0
			}
			kernel(w[r*stride:], stride, p.x, from, sums, to, steps, ahead)
			r += count
			for i := range to {
				to[i] += count
			}
		}
		c += len(from)
	}
}
