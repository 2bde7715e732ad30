package extensions

import (
	"testing"
)

func TestHeap(t *testing.T) {
	for limit, want := range map[string]int64{
		"512Mi":      384,
		"500Mi":      375,
		"1Gi":        768,
		"1.5Gi":      1152,
		"1G":         715, // 10⁹ bytes are less than a Gi
		"1M":         0,
		"1073741824": 768,
		"1e9":        715,
		"786432Ki":   576,
		"100Ki":      0,
		"1100m":      0,
		"2E":         1430511474609,
		"0.5Gi":      384,
	} {
		if got, ok := heap(limit); !ok || got != want {
			t.Errorf("heap(%q) = %d, %v, want %d", limit, got, ok, want)
		}
	}
	for _, limit := range []string{"", "Mi", "1 Gi", "1gi", "-1Gi", "1Gib", "0x10", "1.2.3Gi", "1e", "1e999", "1KMi"} {
		if got, ok := heap(limit); ok {
			t.Errorf("heap(%q) = %d, want it refused", limit, got)
		}
	}
}
