'use strict'

function request (order) {
  const pieces = order.lines.reduce((sum, line) => sum + line.quantity, 0)

  return { input: { order: order.id, pieces } }
}

exports.request = request
