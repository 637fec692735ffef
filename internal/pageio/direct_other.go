//go:build !linux && !darwin

package pageio

// openDirect: reads around the cache are a matter of Linux and macOS so far.
func openDirect(string) (Handle, error) { return nil, errNoDirect }

// dropCache: this system takes no such advice.
func dropCache(Handle, int64, int64) {}

// adviseHuge: this system takes no such advice.
func adviseHuge([]byte) {}
