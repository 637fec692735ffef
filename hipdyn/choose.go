package hipdyn

import (
	"fmt"
	"strconv"
	"strings"
)

// Device finds one device by its index, instruction set, PCI address (with or
// without domain), or a part of its name.
func (l *Library) Device(which string) (*Device, error) {
	devices, err := l.Devices()
	if err != nil {
		return nil, fmt.Errorf("device %q: %w", which, err)
	}
	if i, err := strconv.Atoi(which); err == nil {
		if i < 0 || i >= len(devices) {
			return nil, fmt.Errorf("device %d: there are %s", i, list(devices))
		}
		return devices[i], nil
	}
	lower := strings.ToLower(which)
	for _, match := range []func(*Device) bool{
		func(d *Device) bool { return d.GFX == lower },
		func(d *Device) bool { return d.PCI == lower || strings.HasSuffix(d.PCI, ":"+lower) },
		func(d *Device) bool { return lower != "" && strings.Contains(strings.ToLower(d.Name), lower) },
	} {
		var found []*Device
		for _, d := range devices {
			if match(d) {
				found = append(found, d)
			}
		}
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return nil, fmt.Errorf("device %q may be %s: name it by index or PCI address", which, list(found))
		}
	}
	return nil, fmt.Errorf("device %q: there are %s", which, list(devices))
}

func list(devices []*Device) string {
	var names []string
	for _, d := range devices {
		names = append(names, fmt.Sprintf("%v at %s", d, d.PCI))
	}
	return strings.Join(names, "; ")
}
