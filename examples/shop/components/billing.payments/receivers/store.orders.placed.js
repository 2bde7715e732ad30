'use strict'

function condition (order) {
  return order.amount > 0 // what is free needs no payment
}

function request (order) {
  return { input: { order: order.id, amount: order.amount } }
}

exports.condition = condition
exports.request = request
