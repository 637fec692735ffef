package hipdyn

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// System is what Linux itself tells of AMD GPUs, without HIP: why HIP finds
// none, and what an integrated GPU really has.
type System struct {
	Driver error  // why /dev/kfd, through which HIP computes, cannot be opened; nil if it can
	Nodes  []Node // GPUs that the driver can compute on
	Cards  []Card // GPUs that have memory
}

// Node is a GPU of the compute driver.
type Node struct {
	GFX string `json:"gfx"`
	PCI string `json:"pci"`
}

// Card is the memory of a GPU as the graphics driver counts it. VRAM is the
// GPU's own, or what the firmware of an integrated GPU has cut off; GTT is host
// memory that the GPU may use.
type Card struct {
	PCI       string `json:"pci"`
	VRAMTotal int64  `json:"vram_total"`
	VRAMUsed  int64  `json:"vram_used"`
	GTTTotal  int64  `json:"gtt_total"`
	GTTUsed   int64  `json:"gtt_used"`
}

// ReadSystem reads /dev/kfd and /sys under root, os.DirFS("/").
func ReadSystem(root fs.FS) System {
	s := System{Driver: openable(root, "dev/kfd")}
	nodes, _ := fs.Glob(root, "sys/class/kfd/kfd/topology/nodes/*/properties") // the pattern is well-formed
	for _, file := range nodes {
		p, err := readWords(root, file, " ")
		if v := p.number("gfx_target_version"); err == nil && v > 0 {
			at := p.number("location_id")
			s.Nodes = append(s.Nodes, Node{
				GFX: fmt.Sprintf("gfx%d%x%x", v/10000, v/100%100, v%100),
				PCI: fmt.Sprintf("%04x:%02x:%02x.%x", p.number("domain"), at>>8&0xff, at>>3&0x1f, at&7),
			})
		}
	}
	cards, _ := fs.Glob(root, "sys/class/drm/card*/device/mem_info_vram_total")
	for _, file := range cards {
		dir := path.Dir(file)
		events, err := readWords(root, path.Join(dir, "uevent"), "=")
		if err != nil || strings.Contains(path.Base(path.Dir(dir)), "-") { // a connector
			continue
		}
		bytes := func(name string) int64 {
			text, err := fs.ReadFile(root, path.Join(dir, "mem_info_"+name))
			n, parse := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err != nil || parse != nil {
				return 0
			}
			return n
		}
		s.Cards = append(s.Cards, Card{events["PCI_SLOT_NAME"], bytes("vram_total"), bytes("vram_used"), bytes("gtt_total"), bytes("gtt_used")})
	}
	return s
}

// Card finds the card at a PCI address. HIP tells function 0 for all.
func (s *System) Card(pci string) (Card, bool) {
	for _, c := range s.Cards {
		if c.PCI == pci {
			return c, true
		}
	}
	return Card{}, false
}

// Free is what the card can still give: VRAM, and of an integrated GPU GTT too.
func (c Card) Free(integrated bool) int64 {
	free := c.VRAMTotal - c.VRAMUsed
	if integrated {
		free += c.GTTTotal - c.GTTUsed
	}
	return free
}

func openable(root fs.FS, name string) error {
	f, err := root.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("/%s does not exist: the amdgpu driver is not loaded, or there is no AMD GPU (in a container: pass --device /%s --device /dev/dri)", name, name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("/%s may not be opened: join the groups render and video (usermod -aG render,video $USER), and log in again", name)
	case err != nil:
		return err
	}
	return f.Close()
}

// words are the values of a file that has a name and a value in each line.
type words map[string]string

func (w words) number(name string) int64 {
	n, err := strconv.ParseInt(w[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func readWords(root fs.FS, name, separator string) (words, error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	w := words{}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), separator); ok {
			w[key] = value
		}
	}
	return w, nil
}
