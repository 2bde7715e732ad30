'use strict'

const MOST = 999

/** Returns lines with some more of a product, or undefined if that is too many. */
function add (lines, { sku, quantity, price }) {
  const present = lines.find((line) => line.sku === sku)

  if (present === undefined)
    return [...lines, { sku, quantity, price }]

  const sum = present.quantity + quantity

  if (sum > MOST)
    return undefined

  return lines.map((line) => line === present ? { sku, quantity: sum, price } : line)
}

function total (lines) {
  return lines.reduce(
    (sum, { quantity, price }) => ({ pieces: sum.pieces + quantity, amount: sum.amount + quantity * price }),
    { pieces: 0, amount: 0 }
  )
}

exports.add = add
exports.total = total
