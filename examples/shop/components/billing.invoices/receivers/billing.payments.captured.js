'use strict'

function request (payment) {
  return { input: { order: payment.order, gross: payment.amount } }
}

exports.request = request
