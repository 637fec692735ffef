package sample

// penalties are the three that count how often a token occurs in the last n of
// the sequence.
type penalties struct {
	repeat, frequency, presence float64
	n                           int
	seen                        counts // of those n
}

func newPenalties(p Params) penalties {
	w := penalties{repeat: p.RepeatPenalty, frequency: p.FrequencyPenalty, presence: p.PresencePenalty, n: p.RepeatLastN}
	if w.repeat == 1 && w.frequency == 0 && w.presence == 0 {
		w.n = 0
	}
	return w
}

// add counts the token that is about to be added to h.
func (w *penalties) add(h *history, id int32) {
	if w.n == 0 {
		return
	}
	if recent := h.last(w.n); w.n != all && len(recent) == w.n {
		w.seen.remove(recent[0])
	}
	w.seen.add(id)
}

// apply returns the logit of a token that occurs n times.
func (w *penalties) apply(logit float64, n int) float64 {
	if logit > 0 {
		logit /= w.repeat
	} else {
		logit *= w.repeat
	}
	return logit - float64(float64(n)*w.frequency) - w.presence
}
