package sysmem

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func available() (int64, bool) {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, false
	}
	n, ok := memAvailable(info)
	if !ok {
		return 0, false
	}
	for _, limit := range groupLimits() {
		n = min(n, limit)
	}
	return n, true
}

// memAvailable reads the line of /proc/meminfo.
func memAvailable(info []byte) (int64, bool) {
	lines := bufio.NewScanner(bytes.NewReader(info))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemAvailable:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// groupLimits lists what control groups (v1 and v2) leave to this process.
func groupLimits() []int64 {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	var limits []int64
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		switch {
		case parts[1] == "": // v2: every ancestor may have a limit
			for dir := parts[2]; ; dir = filepath.Dir(dir) {
				limits = appendLeft(limits, filepath.Join("/sys/fs/cgroup", dir), "memory.max", "memory.current", "inactive_file")
				if dir == "/" || dir == "." {
					break
				}
			}
		case strings.Contains(parts[1], "memory"):
			limits = appendLeft(limits, filepath.Join("/sys/fs/cgroup/memory", parts[2]), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
		}
	}
	return limits
}

// appendLeft appends limit minus use of the group in dir; the page cache that
// it could drop does not count as used.
func appendLeft(limits []int64, dir, limitFile, useFile, cacheKey string) []int64 {
	limit, ok := number(filepath.Join(dir, limitFile))
	if !ok {
		return limits // "max", or no such group in this mount
	}
	use, _ := number(filepath.Join(dir, useFile))
	return append(limits, max(0, limit-use+statistic(filepath.Join(dir, "memory.stat"), cacheKey)))
}

func number(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

func statistic(path, key string) int64 {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && k == key {
			n, _ := strconv.ParseInt(v, 10, 64)
			return n
		}
	}
	return 0
}
