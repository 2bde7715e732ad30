'use strict'

/** From how many pieces on, and how many percent. The last that fits counts. */
const STEPS = [
  { from: 10, percent: 5 },
  { from: 50, percent: 8 },
  { from: 200, percent: 12 }
]

function discounted (price, quantity) {
  const step = STEPS.findLast(({ from }) => quantity >= from)
  const percent = step?.percent ?? 0

  return Math.round(price * quantity * (100 - percent) / 100)
}

exports.discounted = discounted
