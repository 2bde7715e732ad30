package document

// Nearest returns the candidate that text most likely meant, or "". Among
// equals the first wins, so sorted candidates make it deterministic.
func Nearest(text string, candidates []string) string {
	limit := max(1, min(len(text), 12)/3)
	best := ""
	for _, candidate := range candidates {
		if d := distance(text, candidate, limit); d <= limit {
			best, limit = candidate, d-1
		}
	}
	return best
}

// distance is the number of letters to insert, remove or replace, and of
// neighbours to swap, to make b of a; above limit it is just some number above.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = last[j-1]
			if a[i-1] != b[j-1] {
				row[j] = 1 + min(last[j-1], last[j], row[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// Suggest asks whether the nearest candidate was meant, or says nothing.
func Suggest(text string, candidates []string) string {
	if near := Nearest(text, candidates); near != "" {
		return "did you mean " + Quote(near) + "?"
	}
	return ""
}
