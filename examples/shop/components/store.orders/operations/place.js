'use strict'

async function transition (input, entry, context) {
  const basket = await context.remote.store.baskets.observe({ query: { id: input.basket } })

  if (basket.lines.length === 0)
    return new Error('EMPTY')

  const reserved = await reserve(basket.lines, context)

  if (reserved instanceof Error)
    return reserved

  entry.account = basket.account
  entry.lines = basket.lines
  entry.amount = basket.lines.reduce((sum, { quantity, price }) => sum + quantity * price, 0)
  entry.status = 'pending'

  return { id: entry.id, amount: entry.amount }
}

/** Sets all lines aside or none of them. */
async function reserve (lines, context) {
  for (const [i, line] of lines.entries()) {
    const reply = await context.remote.store.stock.reserve(request(line))

    if (reply instanceof Error) {
      for (const taken of lines.slice(0, i))
        await context.remote.store.stock.release(request(taken))

      return reply
    }
  }
}

function request ({ sku, quantity }) {
  return { query: { criteria: `sku==${sku}` }, input: { quantity } }
}

exports.transition = transition
