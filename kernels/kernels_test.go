package kernels

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorun/hipdyn"
	"gorun/hipdyn/hipemu"
	"gorun/hipdyn/hipemu/rdna"
	"gorun/tensor"
)

// emulate opens an emulated device. At the end of the test the emulator must
// have found nothing, unless faulty is true.
func emulate(t *testing.T, gfx string, faulty bool) *hipdyn.Device {
	t.Helper()
	if hipdyn.Supported != nil {
		t.Skip(hipdyn.Supported)
	}
	e, err := hipemu.New(hipemu.Config{GPUs: []hipemu.GPU{{GFX: gfx}}})
	if err != nil {
		t.Fatal(err)
	}
	lib, err := hipdyn.OpenSource(e.Source())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := lib.Close(); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil && !faulty {
			t.Error("the emulator found:", err)
		}
	})
	d, err := lib.Device("0")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Every kernel agrees with its reference on every target, and with the other
// targets where its sums have a fixed order.
func TestKernels(t *testing.T) {
	first := map[string][]byte{}
	for _, gfx := range Targets() {
		results, err := SelfTest(emulate(t, gfx, false))
		if err != nil {
			t.Errorf("%s: %v", gfx, err)
		}
		if len(results) != len(cases()) {
			t.Errorf("%s: %d results of %d cases", gfx, len(results), len(cases()))
		}
		for _, r := range results {
			if r.Err != nil {
				t.Errorf("%s: %s: %v", gfx, r.Kernel, r.Err)
				continue
			}
			switch have, ok := first[r.Kernel]; {
			case !ok:
				first[r.Kernel] = r.Bits
			case !bytes.Equal(have, r.Bits) && !strings.HasPrefix(r.Kernel, "gemm_f16"):
				t.Errorf("%s: %s has other bits on %s", r.Kernel, gfx, Targets()[0])
			}
		}
	}
}

// The references themselves agree with the dequantizers of package tensor.
func TestReferences(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, typ := range []tensor.Type{tensor.Q8_0, tensor.Q4_K} {
		const columns = 512
		for range 100 {
			w := randomWeights(r, typ, columns)
			values := make([]float32, columns)
			tensor.Dequantize(typ, values, w)
			q, scales := make([]int8, columns), make([]float32, columns/32)
			for i := range q {
				q[i] = int8(r.IntN(256))
			}
			for i := range scales {
				scales[i] = float32(r.NormFloat64())
			}
			want, size := 0.0, 0.0
			for i, v := range values {
				p := float64(v) * float64(scales[i/32]) * float64(q[i])
				want += p
				size += math.Abs(p)
			}
			row := matVecQ8_0
			if typ == tensor.Q4_K {
				row = matVecQ4_K
			}
			if got := float64(row(w, q, scales)); !(math.Abs(got-want) <= 1e-5*size) {
				t.Errorf("%v: %v, want %v within %v", typ, got, want, 1e-5*size)
			}
		}
	}
	x, weight := normals(r, 700), normals(r, 700)
	square, sum, most := 0.0, 0.0, math.Inf(-1)
	for _, v := range x {
		square += float64(v) * float64(v)
		most = max(most, 2*float64(v))
	}
	for _, v := range x {
		sum += math.Exp(2*float64(v) - most)
	}
	normed, probability := rmsNorm(x, weight, 1e-5), softmax(x, 2)
	for i, v := range x {
		near(t, "rms_norm", normed[i], float64(v)*float64(weight[i])/math.Sqrt(square/700+1e-5))
		near(t, "softmax", probability[i], math.Exp(2*float64(v)-most)/sum)
	}
}

func near(t *testing.T, what string, got float32, want float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= 2e-6*math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// What the sources promise: no hidden arguments, no scratch, no spills, waves
// of 32.
func TestMetadata(t *testing.T) {
	for _, gfx := range Targets() {
		found := map[string]bool{}
		for _, source := range []string{"matvec", "rows", "gemm"} {
			object, err := Object(source, gfx)
			if err != nil {
				t.Fatal(err)
			}
			m, err := rdna.Load(object)
			if err != nil {
				t.Fatal(err)
			}
			if m.Target != gfx {
				t.Errorf("%s.%s is for %s", source, gfx, m.Target)
			}
			for _, k := range m.Kernels() {
				found[k.Name] = true
				if len(k.Hidden()) > 0 || k.Scratch != 0 || k.VGPRSpills != 0 || k.SGPRSpills != 0 || k.WaveSize != waveSize || k.DynamicStack {
					t.Errorf("%s of %s.%s: hidden arguments %v, scratch %d, spills %d and %d, waves of %d, dynamic stack %v",
						k.Name, source, gfx, k.Hidden(), k.Scratch, k.VGPRSpills, k.SGPRSpills, k.WaveSize, k.DynamicStack)
				}
				// The pointer to the arguments and wave32, and on no account the
				// dispatch packet. gfx1030 keeps a register for scratch's base.
				if k.Properties != 0x408 && k.Properties != 0x409 {
					t.Errorf("%s of %s.%s: kernel_code_properties 0x%x", k.Name, source, gfx, k.Properties)
				}
				if blocks := 1024 / max(8, k.VGPRs); blocks < 8 {
					t.Errorf("%s of %s.%s: %d VGPRs leave room for %d waves", k.Name, source, gfx, k.VGPRs, blocks)
				}
			}
		}
		for _, name := range []string{"matvec_q8_0", "matvec_q4_K", "rms_norm", "softmax", "gemm_f16"} {
			if !found[name] {
				t.Errorf("%s has no kernel %s", gfx, name)
			}
		}
	}
	if _, err := Object("rows", "gfx906"); !errors.Is(err, ErrTarget) {
		t.Error(err)
	}
	if _, err := Object("nothing", "gfx1201"); err == nil {
		t.Error("an object of nothing")
	}
}

// testModule loads an object of testdata.
func testModule(t *testing.T, d *hipdyn.Device, name string) *hipdyn.Module {
	t.Helper()
	object, err := os.ReadFile(filepath.Join("testdata", name+"."+d.GFX+".hsaco"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.LoadModule(object)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// bench is a device with a stream and two buffers, for tests of single kernels.
type bench struct {
	t      *testing.T
	stream *hipdyn.Stream
	module *hipdyn.Module
	y, x   *hipdyn.Buffer
}

// newBench has n elements in y and in x; those of x are 0, 1, 2, ...
func newBench(t *testing.T, d *hipdyn.Device, object string, n int) *bench {
	t.Helper()
	b := &bench{t: t, module: testModule(t, d, object)}
	var err error
	if b.stream, err = d.NewStream(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []**hipdyn.Buffer{&b.y, &b.x} {
		if *p, err = d.Alloc(int64(4 * n)); err != nil {
			t.Fatal(err)
		}
	}
	var values []float32
	for i := range n {
		values = append(values, float32(i))
	}
	if err := b.stream.Write(b.x, 0, floatBytes(values)); err != nil {
		t.Fatal(err)
	}
	return b
}

// run launches a kernel and returns the first n elements of y.
func (b *bench) run(kernel string, blocks, n int, more ...int32) ([]float32, error) {
	b.t.Helper()
	f, err := b.module.Function(kernel)
	if err != nil {
		b.t.Fatal(err)
	}
	args := hipdyn.NewArgs().Buffer(b.y, 0).Buffer(b.x, 0)
	for _, v := range more {
		args.Int32(v)
	}
	if err := f.Launch(b.stream, hipdyn.Linear(blocks), hipdyn.Linear(64), 0, args); err != nil {
		b.t.Fatal(err)
	}
	out := make([]byte, 4*n)
	err = b.stream.Read(out, b.y, 0)
	values := make([]float32, n)
	for i := range values {
		values[i] = math.Float32frombits(le.Uint32(out[4*i:]))
	}
	return values, err
}

func (b *bench) close() {
	b.t.Helper()
	if err := errors.Join(b.module.Unload(), b.y.Free(), b.x.Free(), b.stream.Close()); err != nil {
		b.t.Error(err)
	}
}

// clang 19 moves a permlane into divergent code. The emulator does with that
// what hardware does: the sums are wrong. As all kernels are built they are
// right.
func TestMiscompiledPermlane(t *testing.T) {
	var want []float32
	for wave := range 4 {
		want = append(want, float32(32*32*wave+31*32/2))
	}
	for _, gfx := range Targets() {
		for _, object := range []string{"permlane", "permlane-broken"} {
			b := newBench(t, emulate(t, gfx, false), object, 128)
			got, err := b.run("sum_permlane", 2, 4)
			if err != nil {
				t.Fatal(err)
			}
			if right := fmt.Sprint(got) == fmt.Sprint(want); right != (object == "permlane") {
				t.Errorf("%s.%s: sums %v, want %v: right %v", object, gfx, got, want, right)
			}
			b.close()
		}
	}
}

// The emulator finds what is wrong with a kernel or its launch.
func TestPlantedFaults(t *testing.T) {
	const n = 128 // elements
	for _, c := range []struct {
		name, kernel string
		blocks       int
		more         []int32
		want         string // "": nothing is wrong
	}{
		{"right", "copy", 2, []int32{n}, ""},
		{"right, with threads to spare", "copy", 3, []int32{n}, ""},
		{"out of bounds", "copy", 3, []int32{n + 1}, "memory fault: read"},
		{"right", "reverse_right", 2, nil, ""},
		{"wrong grid", "reverse_right", 3, nil, "memory fault: read"},
		{"missing barrier", "reverse_no_barrier", 2, nil, "race"},
		{"all of LDS is written", "reverse_part", 1, []int32{64}, ""},
		{"uninitialized LDS", "reverse_part", 1, []int32{63}, "never written"},
	} {
		for _, gfx := range Targets() {
			t.Run(c.name+" "+gfx, func(t *testing.T) {
				b := newBench(t, emulate(t, gfx, c.want != ""), "faults", n)
				_, err := b.run(c.kernel, c.blocks, 64, c.more...)
				if c.want == "" {
					if err != nil {
						t.Error(err)
					}
					b.close()
					return
				}
				for _, want := range []string{"hipErrorLaunchFailure (719)", "kernel " + c.kernel, "pc 0x", c.want} {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%v, want %q", err, want)
					}
				}
			})
		}
	}
}

// A tensor that is a row short, a result that is too short: the launchers see
// it before the kernel does.
func TestOperandErrors(t *testing.T) {
	d := emulate(t, "gfx1201", false)
	s, err := Load(d)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	b, err := d.Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	at := func(offset int64) Operand { return Operand{b, offset} }
	x := Activations{at(2048), at(3000)}
	for _, c := range []struct {
		err  error
		want string
	}{
		{s.MatVec(stream, tensor.Q8_0, at(0), at(8), x, 2, 31), "columns in blocks of 32"},
		{s.MatVec(stream, tensor.Q8_0, at(0), at(8), x, 0, 32), "0 rows"},
		{s.MatVec(stream, tensor.Q4_K, at(0), at(8), x, 1, 32), "columns in blocks of 256"},
		{s.MatVec(stream, tensor.Q6_K, at(0), at(8), x, 1, 256), "no product of a matrix of q6_K"},
		{s.MatVec(stream, tensor.Q8_0, at(0), at(4064), x, 1, 32), "W: 34 bytes at 4064 of a buffer of 4096"},
		{s.MatVec(stream, tensor.Q8_0, at(0), at(9), x, 1, 32), "W: offset 9 is not a multiple of 2"},
		{s.MatVec(stream, tensor.Q8_0, at(0), at(2), x, 1, 32), "y overlaps W"},
		{s.RMSNorm(stream, at(0), at(400), at(4000), 0, 1, 100), "the weight: 400 bytes at 4000"},
		{s.RMSNorm(stream, at(0), at(0), at(2000), 0, 1, 100), "y overlaps x"},
		{s.Softmax(stream, at(0), at(3700), 1, 1, 100), "x: 400 bytes at 3700"},
		{s.Softmax(stream, at(-4), at(1000), 1, 1, 100), "y: 400 bytes at -4"},
		{s.GEMM(stream, at(0), at(1024), at(2048), 4, 4, 12), "columns in blocks of 8"},
		{s.GEMM(stream, at(0), at(1024), at(2056), 4, 4, 16), "b: offset 2056 is not a multiple of 16"},
		{s.GEMM(stream, at(0), at(1024), at(2048), 40, 40, 16), "c: 6400 bytes at 0"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
	if err := errors.Join(s.Close(), stream.Close(), b.Free()); err != nil {
		t.Error(err)
	}
}

// A kernel that reads what a kernel of another stream writes needs an event
// between the two; kernels that use other bytes, or only read, need none.
func TestKernelsMissingStreamWait(t *testing.T) {
	for _, c := range []struct {
		name        string
		wait, other bool
		fails       bool
	}{{"wait", true, false, false}, {"no wait", false, false, true}, {"other bytes", false, true, false}} {
		t.Run(c.name, func(t *testing.T) {
			d := emulate(t, "gfx1201", c.fails)
			b := newBench(t, d, "faults", 256)
			second, err := d.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			written, err := d.NewEvent(false)
			if err != nil {
				t.Fatal(err)
			}
			f, err := b.module.Function("copy")
			if err != nil {
				t.Fatal(err)
			}
			launch := func(s *hipdyn.Stream, y, x *hipdyn.Buffer, yAt, xAt int64) error {
				return f.Launch(s, hipdyn.Linear(1), hipdyn.Linear(64), 0, hipdyn.NewArgs().Buffer(y, yAt).Buffer(x, xAt).Int32(64))
			}
			// y[0:64] = x[0:64], and then y[64:128] = y[0:64], or = x[0:64].
			err = errors.Join(launch(b.stream, b.y, b.x, 0, 0), b.stream.Record(written))
			if c.wait {
				err = errors.Join(err, second.Wait(written))
			}
			from := b.y
			if c.other {
				from = b.x
			}
			err = errors.Join(err, launch(second, b.y, from, 256, 0), b.stream.Synchronize(), second.Synchronize())
			if c.fails {
				for _, want := range []string{"missing stream wait", "kernel copy"} {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%v, want %q", err, want)
					}
				}
				return
			}
			if err := errors.Join(err, written.Close(), second.Close()); err != nil {
				t.Error(err)
			}
			b.close()
		})
	}
}

// A matrix that is a row shorter than the kernel is told: the launcher would see
// it, the emulator does too.
func TestReadBeyondTensor(t *testing.T) {
	const rows, columns = 3, 64
	for _, gfx := range Targets() {
		d := emulate(t, gfx, true)
		s, err := Load(d)
		if err != nil {
			t.Fatal(err)
		}
		stream, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		var buffers []*hipdyn.Buffer
		for _, size := range []int64{4 * rows, (rows - 1) * columns / 32 * 34, columns, columns / 32 * 4} {
			b, err := d.Alloc(size)
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.Fill(b, 0, size, 0); err != nil {
				t.Fatal(err)
			}
			buffers = append(buffers, b)
		}
		args := hipdyn.NewArgs()
		for _, b := range buffers {
			args.Buffer(b, 0)
		}
		err = s.matVec[tensor.Q8_0].Launch(stream, hipdyn.Linear(1), hipdyn.Linear(matVecRows*waveSize), 0, args.Int32(rows).Int32(columns))
		if err != nil {
			t.Fatal(err)
		}
		err = stream.Synchronize()
		for _, want := range []string{"memory fault: read", "beyond the end of the allocation of 136 bytes", "matvec_q8_0"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", gfx, err, want)
			}
		}
	}
}
