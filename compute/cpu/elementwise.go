package cpu

import (
	"math"

	"gorun/compute"
)

func (s *stream) Norm(dst, x compute.Matrix, p compute.Norm) {
	n := p.Weight.Cols
	require(dst.Rows == x.Rows && dst.Cols == x.Cols && n > 0 && x.Cols%n == 0,
		"Norm of %dx%d in groups of %d to %dx%d", x.Rows, x.Cols, n, dst.Rows, dst.Cols)
	groups := x.Cols / n
	require(p.Weight.Rows == 1 || p.Weight.Rows == groups, "Norm of %d groups with %d weights", groups, p.Weight.Rows)
	s.parallel(x.Rows, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			for g := range groups {
				weight := row(p.Weight, g%p.Weight.Rows)
				var bias []float32
				if !p.Bias.IsZero() {
					bias = row(p.Bias, g%p.Bias.Rows)
				}
				normalize(row(dst, r)[g*n:][:n], row(x, r)[g*n:][:n], weight, bias, p)
			}
		}
	})
}

func normalize(dst, x, weight, bias []float32, p compute.Norm) {
	n := float64(len(x))
	mean := 0.0
	if p.Center {
		for _, v := range x {
			mean += float64(v)
		}
		mean /= n
	}
	sum := 0.0
	for _, v := range x {
		d := float64(v) - mean
		sum += float64(d * d)
	}
	scale := 1 / math.Sqrt(sum/n+float64(p.Eps))
	for i, v := range x {
		y := float64((float64(v)-mean)*scale) * float64(weight[i])
		if bias != nil {
			y = float64(y) + float64(bias[i])
		}
		dst[i] = float32(y)
	}
}

func (s *stream) AddScaled(dst, x compute.Matrix, scale float32) {
	s.rows2(dst, x, func(d, x []float32) {
		for i, v := range x {
			d[i] += float32(v * scale)
		}
	})
}

func (s *stream) AddRow(dst, bias compute.Matrix) {
	require(bias.Rows == 1 && bias.Cols == dst.Cols, "AddRow of %dx%d to %d columns", bias.Rows, bias.Cols, dst.Cols)
	s.rows1(dst, func(_ int, d []float32) {
		for i, v := range row(bias, 0) {
			d[i] += v
		}
	})
}

func (s *stream) Scale(x compute.Matrix, scale float32) {
	s.rows1(x, func(_ int, x []float32) {
		for i := range x {
			x[i] *= scale
		}
	})
}

func (s *stream) ScaleRows(x, factors compute.Matrix) {
	require(factors.Rows == x.Rows, "ScaleRows of %d rows with %d factors", x.Rows, factors.Rows)
	s.rows1(x, func(r int, x []float32) {
		f := row(factors, r)[0]
		for i := range x {
			x[i] *= f
		}
	})
}

func (s *stream) Softcap(x compute.Matrix, limit float32) {
	s.rows1(x, func(_ int, x []float32) {
		for i, v := range x {
			x[i] = float32(softcap(float64(v), float64(limit)))
		}
	})
}

func softcap(v, limit float64) float64 { return limit * math.Tanh(v/limit) }

func (s *stream) Activate(x compute.Matrix, f compute.Activation) {
	act := activation(f)
	s.rows1(x, func(_ int, x []float32) {
		for i, v := range x {
			x[i] = float32(act(float64(v)))
		}
	})
}

func (s *stream) GatedUnit(dst, gate, up compute.Matrix, g compute.Gated) {
	require(dst.Rows == gate.Rows && dst.Cols == gate.Cols, "GatedUnit of %dx%d to %dx%d", gate.Rows, gate.Cols, dst.Rows, dst.Cols)
	act := activation(g.F)
	gateLimit, limit, upLimit := limitOr(g.GateLimit), limitOr(g.Limit), limitOr(g.UpLimit)
	s.parallel(dst.Rows, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			d, x, u := row(dst, r), row(gate, r), row(up, r)
			for i := range d {
				f := min(act(min(float64(x[i]), gateLimit)), limit)
				d[i] = float32(f * (max(min(float64(u[i]), upLimit), -upLimit) + float64(g.UpBias)))
			}
		}
	})
}

// limitOr is the limit, or no limit if it is zero.
func limitOr(limit float32) float64 {
	if limit == 0 {
		return math.Inf(1)
	}
	return float64(limit)
}

func sigmoid(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

func activation(f compute.Activation) func(float64) float64 {
	switch f {
	case compute.SiLU:
		return func(v float64) float64 { return v / (1 + math.Exp(-v)) }
	case compute.QuickGELU:
		return func(v float64) float64 { return v * sigmoid(1.702*v) }
	case compute.Sigmoid:
		return sigmoid
	case compute.SquaredReLU:
		return func(v float64) float64 { return max(v, 0) * max(v, 0) }
	case compute.ErfGELU:
		return func(v float64) float64 { return float64(0.5*v) * (1 + math.Erf(v/math.Sqrt2)) }
	case compute.Identity:
		return func(v float64) float64 { return v }
	case compute.GELU:
		return func(v float64) float64 {
			inner := math.Sqrt(2/math.Pi) * (v + float64(0.044715*v*v*v))
			return float64(0.5*v) * (1 + math.Tanh(inner))
		}
	}
	panic("cpu: unknown activation")
}

func (s *stream) Rotate(x compute.Matrix, p compute.Rotation) {
	n := p.Table.Cols
	require(p.HeadDim > 0 && x.Cols%p.HeadDim == 0 && n <= p.HeadDim && n%2 == 0 && p.Table.Rows == x.Rows,
		"Rotate %d of each %d of %dx%d by %d rows", n, p.HeadDim, x.Rows, x.Cols, p.Table.Rows)
	second, step := 1, 2
	if p.Halves {
		second, step = n/2, 1
	}
	s.rows1(x, func(r int, x []float32) {
		table := row(p.Table, r)
		for head := x; len(head) > 0; head = head[p.HeadDim:] {
			for i := range n / 2 {
				a, b := float64(head[i*step]), float64(head[i*step+second])
				cos, sin := float64(table[2*i]), float64(table[2*i+1])
				head[i*step] = float32(a*cos - b*sin)
				head[i*step+second] = float32(a*sin + b*cos)
			}
		}
	})
}

// rows1 calls body with each row of x.
func (s *stream) rows1(x compute.Matrix, body func(r int, x []float32)) {
	s.parallel(x.Rows, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			body(r, row(x, r))
		}
	})
}

// rows2 calls body with each pair of rows.
func (s *stream) rows2(a, b compute.Matrix, body func(a, b []float32)) {
	require(a.Rows == b.Rows && a.Cols == b.Cols, "operands of %dx%d and %dx%d", a.Rows, a.Cols, b.Rows, b.Cols)
	s.parallel(a.Rows, func(_, lo, hi int) {
		for r := lo; r < hi; r++ {
			body(row(a, r), row(b, r))
		}
	})
}
